; A smaller charge never leaves a larger account.
;
; In IEEE double. If 0 <= a <= b, then the rounded sum C + a is at most the rounded sum C + b.
;
; solver: bitwuzla
; slow
; control: drop goal
; control: drop charge_smaller

(set-logic QF_FP)
(define-sort Double () (_ FloatingPoint 11 53))
(define-fun zero () Double (_ +zero 11 53))
(define-fun infinity () Double (_ +oo 11 53))

(declare-const C Double)
(declare-const a Double)
(declare-const b Double)

(assert (! (and (fp.leq zero C) (fp.lt C infinity)) :named spent_usable))
(assert (! (and (fp.leq zero a) (fp.lt a infinity)) :named charge_usable))
(assert (! (and (fp.leq zero b) (fp.lt b infinity)) :named other_usable))
(assert (! (fp.leq a b) :named charge_smaller))

(assert (! (not (fp.leq (fp.add RNE C a) (fp.add RNE C b))) :named goal))
(check-sat)
