; Of two risks the greater stays the greater or becomes equal, rounding included.
;
; In any correctly rounded arithmetic. Of rounding (rd) only order is assumed, and that 0, 1
; and the risks themselves are representable. For 0 < r1 <= r2 <= 1 and a factor w = e^-b >= 0, the
; result of `Recalibration::raise`, the greater of the risk and rd(1 / rd(1 + rd(w rd(rd(1 - r) / r)))),
; keeps the order. Monotone operations in a row make a monotone whole.
;
; solver: z3
; control: drop goal
; control: drop risks_in_order
; control: drop factor_usable
; control: drop rounding_keeps_order_of_odds

(declare-const w Real)
(declare-const r1 Real)
(declare-const r2 Real)
(declare-const a1 Real)    ; 1 - r, rounded
(declare-const a2 Real)
(declare-const o1 Real)    ; the odds against an incident
(declare-const o2 Real)
(declare-const y1 Real)    ; after the shift
(declare-const y2 Real)
(declare-const s1 Real)    ; 1 + y
(declare-const s2 Real)
(declare-const q1 Real)    ; 1 / s
(declare-const q2 Real)
(define-fun larger ((x Real) (y Real)) Real (ite (> x y) x y))

(assert (! (and (< 0 r1) (<= r1 1) (< 0 r2) (<= r2 1)) :named risks_probabilities))
(assert (! (<= r1 r2) :named risks_in_order))
(assert (! (<= 0 w) :named factor_usable))
; What a correctly rounded operation promises: the order of two results, and of a result and 0 or 1.
(assert (! (and (=> (<= (- 1 r2) (- 1 r1)) (<= a2 a1)) (<= 0 a1) (<= 0 a2)) :named rounding_keeps_order_of_differences))
(assert (! (=> (<= (* a2 r1) (* a1 r2)) (<= o2 o1)) :named rounding_keeps_order_of_odds))
(assert (! (and (<= 0 o1) (<= 0 o2)) :named rounding_keeps_sign_of_odds))
(assert (! (=> (<= (* w o2) (* w o1)) (<= y2 y1)) :named rounding_keeps_order_of_products))
(assert (! (and (=> (<= 0 (* w o1)) (<= 0 y1)) (=> (<= 0 (* w o2)) (<= 0 y2))) :named rounding_keeps_sign_of_products))
(assert (! (=> (<= (+ 1 y2) (+ 1 y1)) (<= s2 s1)) :named rounding_keeps_order_of_sums))
(assert (! (and (=> (<= 0 y1) (<= 1 s1)) (=> (<= 0 y2) (<= 1 s2))) :named rounding_keeps_one))
(assert (! (=> (and (< 0 s1) (< 0 s2) (<= s2 s1)) (<= q1 q2)) :named rounding_keeps_order_of_quotients))

(assert (! (not (<= (larger r1 q1) (larger r2 q2))) :named goal))
(check-sat)
