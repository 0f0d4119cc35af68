; No cost above the cap or above the projection is admitted, whatever the numbers.
;
; In IEEE double, as `threshold_below_cap.smt2`, but nothing is assumed of the projection q and the
; gain g: each may be negative, infinite or NaN. A cost c that passes the shield's one comparison,
; c <= tau, is at most the cap, below 1, and at most q. A threshold that is NaN admits nothing.
;
; solver: bitwuzla
; control: drop goal
; control: drop cap_below_one
; control: drop admitted

(set-logic QF_FP)
(define-sort Double () (_ FloatingPoint 11 53))
(define-fun one () Double ((_ to_fp 11 53) RNE 1.0))

(declare-const q Double)      ; the projection
(declare-const cap Double)
(declare-const g Double)
(declare-const c Double)      ; the cost
(define-fun smaller ((x Double) (y Double)) Double (ite (fp.leq x y) x y))
(define-fun limit () Double (smaller cap q))
(define-fun tau () Double (smaller limit (fp.mul RNE limit g)))

(assert (! (fp.lt cap one) :named cap_below_one))
(assert (! (fp.leq c tau) :named admitted))

(assert (! (not (and (fp.leq c cap) (fp.lt c one) (fp.leq c q))) :named goal))
(check-sat)
