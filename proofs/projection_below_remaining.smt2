; One decision is allowed less than the remaining budget, by at least one unit in the last place.
;
; In IEEE double. For a remaining budget 2^-1021 <= r and a divisor 1 + 2^-40 <= n < 2, the rounded
; quotient r / n is below r. `divisor_above_one.smt2` proves the margin of every step; a divisor from
; 2 on is the matter of `projection_far_below_remaining.smt2`. For n < 2 the exponent is fixed, which
; lets the solver follow the bits of the significands.
;
; solver: bitwuzla
; slow
; control: drop goal
; control: drop divisor_margin
; control: drop remaining_normal

(set-logic QF_BVFP)
(define-sort Double () (_ FloatingPoint 11 53))
(define-fun infinity () Double (_ +oo 11 53))
(define-fun one () Double ((_ to_fp 11 53) RNE 1.0))
(define-fun margin () Double ((_ to_fp 11 53) RNE 0.0000000000009094947017729282379150390625)) ; 2^-40
(define-fun tiny () Double (fp #b0 #b00000000010 #x0000000000000)) ; 2^-1021

(declare-const exponent_r (_ BitVec 11))
(declare-const significand_r (_ BitVec 52))
(declare-const significand_n (_ BitVec 52))
(define-fun r () Double (fp #b0 exponent_r significand_r))
(define-fun n () Double (fp #b0 #b01111111111 significand_n)) ; 1 <= n < 2

(assert (! (fp.lt r infinity) :named remaining_finite))
(assert (! (fp.leq tiny r) :named remaining_normal))
(assert (! (fp.leq (fp.add RNE one margin) n) :named divisor_margin))

(assert (! (not (fp.lt (fp.div RNE r n) r)) :named goal))
(check-sat)
