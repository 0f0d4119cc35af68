; The three cases of the ledger's sum leave no account out.
;
; In IEEE double. For 0 <= C <= B, both finite: either C is normal and its exponent field at most 53
; below that of B (`ledger_sum.smt2`); or it is 0, or more than 53 below (`ledger_sum_far.smt2`); or
; B < 2^-959 and C, multiplied by 2^100, is normal (`ledger_sum_scales.smt2`). Each case is needed:
; without it, the solver finds an account that belongs to no other.
;
; solver: bitwuzla
; control: drop goal
; control: drop not_near
; control: drop not_far

(set-logic QF_BVFP)
(define-sort Double () (_ FloatingPoint 11 53))
(define-fun zero () Double (_ +zero 11 53))
(define-fun infinity () Double (_ +oo 11 53))
(define-fun bound () Double (fp #b0 #b00001000000 #x0000000000000)) ; 2^-959
(define-fun scale () Double (fp #b0 #b10001100011 #x0000000000000)) ; 2^100

(declare-const exponent_B (_ BitVec 11))
(declare-const exponent_C (_ BitVec 11))
(declare-const significand_B (_ BitVec 52))
(declare-const significand_C (_ BitVec 52))
(define-fun B () Double (fp #b0 exponent_B significand_B))
(define-fun C () Double (fp #b0 exponent_C significand_C))
(define-fun distance () (_ BitVec 11) (bvsub exponent_B exponent_C))

(assert (! (fp.lt B infinity) :named budget_finite))
(assert (! (fp.leq C B) :named not_overdrawn))
(assert (! (not (and (bvult distance exponent_B) (bvule distance #b00000110101))) :named not_near)) ; 53
(assert (! (not (or (= C zero) (bvult #b00000110101 distance))) :named not_far))

(assert (! (not (and (fp.lt B bound) (fp.isNormal (fp.mul RNE scale C)))) :named goal))
(check-sat)
