; The same as `ledger_sum.smt2`, where the spent cost is far below the budget, or 0.
;
; In IEEE double. C, normal or not, has an exponent field more than 53 below that of B, or is 0. D
; is B - C rounded down. Then the rounded sum C + D is at most B.
;
; solver: bitwuzla
; control: drop goal
; control: drop rounded_down

(set-logic QF_BVFP)
(define-sort Double () (_ FloatingPoint 11 53))
(define-fun zero () Double (_ +zero 11 53))
(define-fun infinity () Double (_ +oo 11 53))

(declare-const exponent_B (_ BitVec 11))
(declare-const exponent_C (_ BitVec 11))
(declare-const significand_B (_ BitVec 52))
(declare-const significand_C (_ BitVec 52))
(define-fun B () Double (fp #b0 exponent_B significand_B))
(define-fun C () Double (fp #b0 exponent_C significand_C))
(declare-const D Double)

(assert (! (or (= C zero) (bvult #b00000110101 (bvsub exponent_B exponent_C))) :named spent_far_below)) ; 53
(assert (! (and (fp.leq C B) (fp.lt B infinity)) :named not_overdrawn))
(assert (! (fp.leq zero D) :named difference_usable))
(assert (! (= D (fp.sub RTN B C)) :named rounded_down))

(assert (! (not (fp.leq (fp.add RNE C D) B)) :named goal))
(check-sat)
