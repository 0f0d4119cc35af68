; Lifting what cannot be avoided keeps a conservative critic conservative as long as the least risky action runs.
;
; Over the reals, with x = e^l >= 1 and f(r) = r x / (1 - r + r x). All risks rho of a scene become rho + f(V) - V, where
; V is the least of them. A decision leads to scenes of unavoidable risk u and v, with probability p and 1 - p, or to an
; incident, which is the risk 1 and stays it. If rho is at least the mean of u and v, and the action is the least risky one, the
; lifted rho is at least the mean of f(u) and f(v). It need not be for an action that risks more than V: where it leads
; there is more to lift than where it ran, which is the second control. A look-ahead that ends with some chance is a scene of
; risk 0, as in recalibration_stays_conservative.
;
; solver: z3
; control: drop goal
; control: drop least_risky
; control: drop lift_not_negative
; control: drop conservative

(declare-const u Real)
(declare-const v Real)
(declare-const p Real)
(declare-const x Real)
(declare-const V Real)
(declare-const rho Real)
(define-fun mean () Real (+ (* p u) (* (- 1 p) v)))
(declare-const fu Real)
(declare-const fv Real)
(declare-const fV Real)

(assert (! (and (<= 0 u) (<= u 1) (<= 0 v) (<= v 1)) :named risks_probabilities))
(assert (! (and (<= 0 p) (<= p 1)) :named weight_a_probability))
(assert (! (and (<= 0 V) (<= V rho) (<= rho 1)) :named least_risk))
(assert (! (<= 1 x) :named lift_not_negative))
(assert (! (> x 0) :named lift_exists))
(assert (! (= (* fu (+ (- 1 u) (* u x))) (* u x)) :named first_lifted))
(assert (! (= (* fv (+ (- 1 v) (* v x))) (* v x)) :named second_lifted))
(assert (! (= (* fV (+ (- 1 V) (* V x))) (* V x)) :named least_lifted))
(assert (! (>= rho mean) :named conservative))
(assert (! (= rho V) :named least_risky))

(assert (! (not (>= (+ rho (- fV V)) (+ (* p fu) (* (- 1 p) fv)))) :named goal))
(check-sat)
