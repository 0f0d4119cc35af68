; A gain never loosens the threshold, bit by bit.
;
; In IEEE single: for finite x >= 0 and 0 < g <= 1, the rounded product x * g lies between 0 and x.
; To the same question in double, bitwuzla 0.9.1 gave no answer in 235 s of processor time with its
; default bit-blasting, and none in 200 s with its abstraction of multiplication; longer runs and other
; solvers were not tried. There the statement rests on `threshold_below_cap.smt2`, which needs only
; that rounding keeps order. This file guards that argument against a slip by checking it in a format
; where every bit can be followed.
;
; solver: bitwuzla
; control: drop goal
; control: drop gain_at_most_one
; control: drop gain_positive

(set-logic QF_FP)
(define-sort Single () (_ FloatingPoint 8 24))
(define-fun zero () Single (_ +zero 8 24))
(define-fun one () Single ((_ to_fp 8 24) RNE 1.0))
(define-fun infinity () Single (_ +oo 8 24))

(declare-const x Single)
(declare-const g Single)
(define-fun product () Single (fp.mul RNE x g))

(assert (! (fp.leq zero x) :named threshold_usable))
(assert (! (fp.lt x infinity) :named threshold_finite))
(assert (! (fp.lt zero g) :named gain_positive))
(assert (! (fp.leq g one) :named gain_at_most_one))

(assert (! (not (and (fp.leq zero product) (fp.leq product x))) :named goal))
(check-sat)
