; The projection's divisor is at least 1 + 2^-40 whenever a decision is left.
;
; In IEEE double. For a count of decisions left k >= 1 and an epsilon of at least 1e-12 (the least
; that a spec may have), the rounded sum k + epsilon is at least 1 + 2^-40.
;
; solver: bitwuzla
; control: drop goal
; control: drop epsilon_least
; control: drop decisions_left

(set-logic QF_FP)
(define-sort Double () (_ FloatingPoint 11 53))
(define-fun one () Double ((_ to_fp 11 53) RNE 1.0))
(define-fun least_epsilon () Double ((_ to_fp 11 53) RNE 0.000000000001))
(define-fun margin () Double ((_ to_fp 11 53) RNE 0.0000000000009094947017729282379150390625)) ; 2^-40
(define-fun infinity () Double (_ +oo 11 53))

(declare-const k Double)
(declare-const epsilon Double)

(assert (! (fp.leq one k) :named decisions_left))
(assert (! (fp.lt k infinity) :named count_finite))
(assert (! (fp.leq least_epsilon epsilon) :named epsilon_least))
(assert (! (fp.lt epsilon infinity) :named epsilon_finite))

(assert (! (not (fp.leq (fp.add RNE one margin) (fp.add RNE k epsilon))) :named goal))
(check-sat)
