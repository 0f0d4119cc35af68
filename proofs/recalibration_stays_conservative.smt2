; Raising a conservative critic by a fixed shift keeps it conservative.
;
; Over the reals, with x = e^b >= 1 and f(r) = r x / (1 - r + r x). A decision leads to an incident,
; which is the risk 1, or goes on to a scene of unavoidable risk V, or survives no look-ahead, which is
; the risk 0. A critic is conservative if its rho is at least the mean of that risk, and f keeps it so
; because it is concave: f(p u + (1 - p) v) >= p f(u) + (1 - p) f(v) for 0 <= u, v, p <= 1. As f(1) = 1
; and f(0) = 0, an incident and a safe end stay what they are. For more than two outcomes, repeat it.
;
; solver: z3
; control: drop goal
; control: drop shift_not_negative
; control: drop weight_a_probability

(declare-const u Real)
(declare-const v Real)
(declare-const p Real)
(declare-const x Real)
(define-fun mean () Real (+ (* p u) (* (- 1 p) v)))
(declare-const fu Real)
(declare-const fv Real)
(declare-const fmean Real)

(assert (! (and (<= 0 u) (<= u 1) (<= 0 v) (<= v 1)) :named risks_probabilities))
(assert (! (and (<= 0 p) (<= p 1)) :named weight_a_probability))
(assert (! (<= 1 x) :named shift_not_negative))
(assert (! (> x 0) :named shift_exists))
(assert (! (= (* fu (+ (- 1 u) (* u x))) (* u x)) :named first_raised))
(assert (! (= (* fv (+ (- 1 v) (* v x))) (* v x)) :named second_raised))
(assert (! (= (* fmean (+ (- 1 mean) (* mean x))) (* mean x)) :named mean_raised))

(assert (! (not (>= fmean (+ (* p fu) (* (- 1 p) fv)))) :named goal))
(check-sat)
