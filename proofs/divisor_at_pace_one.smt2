; At pace 1 the divisor is that of Eq. 4, bit for bit.
;
; In IEEE double. For a count of decisions left k >= 1 and an epsilon of at least 1e-12, the rounded sum
; n = k + epsilon is not below 1 + 1e-12 rounded, so the ledger's floor changes nothing; and n / 1 is n.
;
; solver: bitwuzla
; control: drop goal
; control: drop epsilon_least
; control: drop decisions_left

(set-logic QF_FP)
(define-sort Double () (_ FloatingPoint 11 53))
(define-fun one () Double ((_ to_fp 11 53) RNE 1.0))
(define-fun least_epsilon () Double ((_ to_fp 11 53) RNE 0.000000000001))
(define-fun least () Double (fp.add RNE one least_epsilon))
(define-fun infinity () Double (_ +oo 11 53))

(declare-const k Double)
(declare-const epsilon Double)
(define-fun n () Double (fp.add RNE k epsilon))
(define-fun paced () Double (fp.div RNE n one))
(define-fun d () Double (ite (fp.lt paced least) least paced))

(assert (! (fp.leq one k) :named decisions_left))
(assert (! (fp.lt k infinity) :named count_finite))
(assert (! (fp.leq least_epsilon epsilon) :named epsilon_least))
(assert (! (fp.lt epsilon infinity) :named epsilon_finite))

(assert (! (not (= d n)) :named goal))
(check-sat)
