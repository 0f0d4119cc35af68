; With a divisor of at least 2, one decision is allowed less than the remaining budget.
;
; In IEEE double. The other case of `projection_below_remaining.smt2`: for 2^-1021 <= r and n >= 2, the
; rounded quotient r / n is below r.
;
; solver: bitwuzla
; control: drop goal
; control: drop divisor_at_least_two
; control: drop remaining_normal

(set-logic QF_FP)
(define-sort Double () (_ FloatingPoint 11 53))
(define-fun zero () Double (_ +zero 11 53))
(define-fun two () Double ((_ to_fp 11 53) RNE 2.0))
(define-fun infinity () Double (_ +oo 11 53))
(define-fun tiny () Double (fp #b0 #b00000000010 #x0000000000000)) ; 2^-1021

(declare-const r Double)
(declare-const n Double)

(assert (! (and (fp.leq zero r) (fp.lt r infinity)) :named remaining_usable))
(assert (! (fp.leq tiny r) :named remaining_normal))
(assert (! (and (fp.lt zero n) (fp.lt n infinity)) :named divisor_positive))
(assert (! (fp.leq two n) :named divisor_at_least_two))

(assert (! (not (fp.lt (fp.div RNE r n) r)) :named goal))
(check-sat)
