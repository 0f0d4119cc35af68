; Recalibration never lowers a risk, keeps probabilities, and keeps the order of risks and of shifts.
;
; Over the reals, with x = e^b: f(r, x) = r x / (1 - r + r x). For 0 <= r <= r2 <= 1 and 1 <= x <= x2:
; r <= f(r, x) <= 1, and f(r, x) <= f(r2, x), and f(r, x) <= f(r, x2).
;
; solver: z3
; control: drop goal
; control: drop shift_not_negative
; control: drop risk_a_probability
; control: drop risks_in_order
; control: drop shifts_in_order

(declare-const r Real)
(declare-const r2 Real)
(declare-const x Real)
(declare-const x2 Real)
(declare-const y Real)
(declare-const y_r2 Real)
(declare-const y_x2 Real)

; y = f(r, x) and so on, without a division.
(assert (! (= (* y (+ (- 1 r) (* r x))) (* r x)) :named raised))
(assert (! (= (* y_r2 (+ (- 1 r2) (* r2 x))) (* r2 x)) :named greater_risk_raised))
(assert (! (= (* y_x2 (+ (- 1 r) (* r x2))) (* r x2)) :named raised_further))
(assert (! (and (<= 0 r) (<= r 1) (<= 0 r2) (<= r2 1)) :named risk_a_probability))
(assert (! (<= r r2) :named risks_in_order))
(assert (! (and (<= 1 x) (<= 1 x2)) :named shift_not_negative))
(assert (! (<= x x2) :named shifts_in_order))

(assert (! (not (and (<= r y) (<= y 1) (<= y y_r2) (<= y y_x2))) :named goal))
(check-sat)
