; The threshold lies between 0 and the cap, and never above the budget's projection.
;
; In any correctly rounded arithmetic, IEEE double with all its subnormals among them. `rd` stands
; for rounding, and all that is assumed of it is what IEEE 754 demands: it keeps order and leaves
; representable numbers alone. So tau = rd(min(cap, q) * g) satisfies 0 <= tau <= cap < 1 and
; tau <= q, for every representable q >= 0 and gain 0 < g <= 1. As a predicted collision costs 1, no
; budget ever buys one. `gain_tightens.smt2` checks the product bit by bit.
;
; solver: z3
; control: drop goal
; control: drop gain_at_most_one
; control: drop rounding_keeps_order_above
; control: drop cap_below_one

(declare-fun rd (Real) Real)
(declare-const q Real)      ; the projection, already rounded
(declare-const cap Real)
(declare-const g Real)
(define-fun smaller () Real (ite (<= q cap) q cap))
(define-fun tau () Real (rd (* smaller g)))

(assert (! (>= q 0) :named projection_usable))
(assert (! (< 0 cap) :named cap_positive))
(assert (! (< cap 1) :named cap_below_one))
(assert (! (< 0 g) :named gain_positive))
(assert (! (<= g 1) :named gain_at_most_one))
(assert (! (= (rd 0.0) 0.0) :named zero_representable))
(assert (! (= (rd smaller) smaller) :named smaller_representable))
(assert (! (=> (<= 0.0 (* smaller g)) (<= (rd 0.0) tau)) :named rounding_keeps_order_below))
(assert (! (=> (<= (* smaller g) smaller) (<= tau (rd smaller))) :named rounding_keeps_order_above))

(assert (! (not (and (<= 0 tau) (<= tau cap) (< tau 1) (<= tau q))) :named goal))
(check-sat)
