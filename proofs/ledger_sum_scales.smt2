; Among small doubles, subnormals included, the ledger's arithmetic is the same at 2^100 times the size.
;
; In IEEE double. For 0 <= C, D <= B < 2^-959, multiplied by 2^100: the difference B - C, rounded
; down, becomes the difference of the larger numbers; the sum C + D becomes their sum; and that sum is
; at most B exactly if it is at the larger size. So what `ledger_sum.smt2` and
; `ledger_sum_far.smt2` prove of the larger numbers, whose C is 0 or normal, holds for the small ones.
;
; solver: bitwuzla
; slow
; control: drop goal
; control: drop small

(set-logic QF_BVFP)
(define-sort Double () (_ FloatingPoint 11 53))
(define-fun zero () Double (_ +zero 11 53))
(define-fun infinity () Double (_ +oo 11 53))
(define-fun bound () Double (fp #b0 #b00001000000 #x0000000000000)) ; 2^-959
(define-fun scale () Double (fp #b0 #b10001100011 #x0000000000000)) ; 2^100
(define-fun scaled ((x Double)) Double (fp.mul RNE scale x))

(declare-const B Double)
(declare-const C Double)
(declare-const D Double)
(define-fun sum () Double (fp.add RNE C D))

(assert (! (and (fp.leq zero C) (fp.leq C B)) :named spent_usable))
(assert (! (and (fp.leq zero D) (fp.leq D B)) :named difference_usable))
(assert (! (fp.lt B infinity) :named budget_finite))
(assert (! (fp.lt B bound) :named small))

(assert (! (not (and
    (= (scaled (fp.sub RTN B C)) (fp.sub RTN (scaled B) (scaled C)))
    (= (scaled sum) (fp.add RNE (scaled C) (scaled D)))
    (= (fp.leq sum B) (fp.leq (scaled sum) (scaled B))))) :named goal))
(check-sat)
