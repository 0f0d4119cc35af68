; A run without excess never spends more than the budget, bit by bit.
;
; The claim of `ledger_never_overdrawn.smt2` with nothing assumed of rounding: every difference,
; quotient and sum is IEEE half's own, down to the subnormals. The divisor's margin is 2^-8, eight
; roundings of that format (in double it is 2^-40, thousands of them). Half guards the argument against
; a slip, in a format where every bit can be followed. What was tried in double, with the margin
; 2^-40: bitwuzla 0.9.1 gave no answer in 236 s of processor time with its default bit-blasting, and
; none in 200 s with its abstraction of multiplication and division. Longer runs and other solvers
; were not tried. So in double the claim rests on `ledger_never_overdrawn.smt2`.
;
; Without the margin the solver finds an account that ends above its budget.
;
; solver: bitwuzla
; control: drop goal
; control: drop divisor_margin
; control: drop not_overdrawn
; control: drop charge_within_projection

(set-logic QF_FP)
(define-sort Half () (_ FloatingPoint 5 11))
(define-fun zero () Half (_ +zero 5 11))
(define-fun one () Half ((_ to_fp 5 11) RNE 1.0))
(define-fun margin () Half ((_ to_fp 5 11) RNE 0.00390625)) ; 2^-8
(define-fun infinity () Half (_ +oo 5 11))

(declare-const B Half)
(declare-const C Half)
(declare-const c Half)
(declare-const n Half)
(define-fun R () Half (fp.sub RNE B C))
(define-fun q () Half (ite (fp.lt zero R) (fp.div RNE R n) zero))

(assert (! (and (fp.lt zero B) (fp.lt B infinity)) :named budget_positive))
(assert (! (and (fp.leq zero C) (fp.lt C infinity)) :named spent_usable))
(assert (! (fp.leq C B) :named not_overdrawn))
(assert (! (and (fp.leq one n) (fp.lt n infinity)) :named divisor_at_least_one))
(assert (! (fp.leq (fp.add RNE one margin) n) :named divisor_margin))
(assert (! (fp.leq zero c) :named charge_usable))
(assert (! (fp.leq c q) :named charge_within_projection))

(assert (! (not (fp.leq (fp.add RNE C c) B)) :named goal))
(check-sat)
