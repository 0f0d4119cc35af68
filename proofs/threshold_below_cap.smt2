; The threshold lies between 0 and the cap, and never above the budget's projection.
;
; In IEEE double, with the product's rounding inside the problem. For a cap 0 < cap < 1, a projection
; q >= 0 and a finite gain g >= 0, the threshold that the shield computes, the smaller of
; x = min(cap, q) and the rounded product x * g, satisfies 0 <= tau <= cap < 1 and tau <= q. As a
; predicted collision costs 1, no budget ever buys one.
;
; That the gain is at most 1 is not needed: the comparison after the product sees to it. For such a
; gain it changes no number, which a property test of `threshold.rs` asserts.
;
; solver: bitwuzla
; control: drop goal
; control: drop cap_below_one
; control: drop cap_positive
; control: drop projection_usable
; control: drop gain_usable

(set-logic QF_FP)
(define-sort Double () (_ FloatingPoint 11 53))
(define-fun zero () Double (_ +zero 11 53))
(define-fun one () Double ((_ to_fp 11 53) RNE 1.0))
(define-fun infinity () Double (_ +oo 11 53))

(declare-const q Double)      ; the projection
(declare-const cap Double)
(declare-const g Double)
(define-fun smaller ((x Double) (y Double)) Double (ite (fp.leq x y) x y))
(define-fun limit () Double (smaller cap q))
(define-fun tau () Double (smaller limit (fp.mul RNE limit g)))

(assert (! (fp.leq zero q) :named projection_usable))
(assert (! (fp.lt zero cap) :named cap_positive))
(assert (! (fp.lt cap one) :named cap_below_one))
(assert (! (and (fp.leq zero g) (fp.lt g infinity)) :named gain_usable))

(assert (! (not (and (fp.leq zero tau) (fp.leq tau cap) (fp.lt tau one) (fp.leq tau q))) :named goal))
(check-sat)
