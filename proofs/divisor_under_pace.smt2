; Under a pace, too, the projection's divisor is at least 1 + 2^-40.
;
; In IEEE double. The ledger divides the remaining budget by the greater of p, which is n / k rounded
; (n = T - t + epsilon, k >= 1 the pace), and 1 + 1e-12 rounded. `projection_within_remaining.smt2` says
; that p lies between 0 and n, and no more is needed of it. So what `projection_below_remaining.smt2`,
; `projection_far_below_remaining.smt2` and `ledger_never_overdrawn.smt2` prove of a divisor with that
; margin holds at every pace: a run without excess never spends more than the budget, by not one
; unit in the last place. Without the floor, the solver finds a pace that has no margin left.
;
; solver: bitwuzla
; control: drop goal
; control: drop floored
; control: drop count_finite
; control: drop paced_usable

(set-logic QF_FP)
(define-sort Double () (_ FloatingPoint 11 53))
(define-fun zero () Double (_ +zero 11 53))
(define-fun one () Double ((_ to_fp 11 53) RNE 1.0))
(define-fun infinity () Double (_ +oo 11 53))
(define-fun least_epsilon () Double ((_ to_fp 11 53) RNE 0.000000000001))
(define-fun margin () Double ((_ to_fp 11 53) RNE 0.0000000000009094947017729282379150390625)) ; 2^-40
(define-fun least () Double (fp.add RNE one least_epsilon))

(declare-const n Double)    ; T - t + epsilon
(declare-const p Double)    ; n / k
(declare-const d Double)    ; the divisor

(assert (! (fp.lt n infinity) :named count_finite))
(assert (! (and (fp.leq zero p) (fp.leq p n)) :named paced_usable))
(assert (! (or (= d p) (= d least)) :named divisor))
(assert (! (= d (ite (fp.lt p least) least p)) :named floored))

(assert (! (not (and (fp.leq (fp.add RNE one margin) d) (fp.lt d infinity))) :named goal))
(check-sat)
