; One decision is never allowed more than the remaining budget.
;
; In IEEE double, rounding included. For a remaining budget r >= 0 and a divisor n >= 1, both
; finite, the rounded quotient r / n lies between 0 and r.
;
; solver: bitwuzla
; slow
; control: drop goal
; control: drop divisor_at_least_one
; control: drop remaining_usable

(set-logic QF_FP)
(define-sort Double () (_ FloatingPoint 11 53))
(define-fun zero () Double (_ +zero 11 53))
(define-fun one () Double ((_ to_fp 11 53) RNE 1.0))
(define-fun infinity () Double (_ +oo 11 53))

(declare-const r Double)
(declare-const n Double)
(define-fun quotient () Double (fp.div RNE r n))

(assert (! (fp.leq zero r) :named remaining_usable))
(assert (! (fp.lt r infinity) :named remaining_finite))
(assert (! (fp.leq one n) :named divisor_at_least_one))
(assert (! (fp.lt n infinity) :named divisor_finite))

(assert (! (not (and (fp.leq zero quotient) (fp.leq quotient r))) :named goal))
(check-sat)
