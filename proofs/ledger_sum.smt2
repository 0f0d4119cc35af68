; The spent cost plus the remaining budget, rounded down, never exceeds the budget.
;
; In IEEE double. Let D be the difference B - C rounded towards minus infinity. Then the sum C + D,
; rounded as the ledger rounds, is at most B. (The ledger's own difference is rounded to nearest;
; `ledger_difference.smt2` says what D has to do with it.)
;
; This file is the case of a normal C whose exponent field lies d below that of B, for each d from 0
; to 53; a fixed distance lets the solver follow the bits. `ledger_sum_far.smt2` is the case d > 53, and
; C = 0. What is left is a subnormal C > 0 and a B with an exponent field of at most 53. There
; `ledger_sum_scales.smt2` says that both can be multiplied by 2^100, and C is then normal. That these
; cases are all there are is `ledger_sum_cases.smt2`.
;
; Rounded up instead, the solver finds an account that ends above its budget.
;
; solver: bitwuzla
; each: d from 0 to 53
; control: drop goal
; control: drop rounded_down where d = 1
; control: drop rounded_down where d = 53

(set-logic QF_BVFP)
(define-sort Double () (_ FloatingPoint 11 53))
(define-fun infinity () Double (_ +oo 11 53))

(declare-const exponent (_ BitVec 11))
(declare-const significand_B (_ BitVec 52))
(declare-const significand_C (_ BitVec 52))
(define-fun B () Double (fp #b0 exponent significand_B))
(define-fun C () Double (fp #b0 (bvsub exponent d) significand_C))
(declare-const D Double)

(assert (! (bvult d exponent) :named spent_normal))
(assert (! (fp.lt B infinity) :named budget_finite))
(assert (! (fp.leq C B) :named not_overdrawn))
(assert (! (or (= D (fp.sub RTN B C)) (= D (fp.sub RTP B C))) :named difference))
(assert (! (= D (fp.sub RTN B C)) :named rounded_down))

(assert (! (not (fp.leq (fp.add RNE C D) B)) :named goal))
(check-sat)
