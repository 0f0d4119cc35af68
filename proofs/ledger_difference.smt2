; A charge below the remaining budget is at most the remaining budget rounded down.
;
; In IEEE double. R is B - C rounded to nearest, as the ledger rounds it, and D the same rounded
; towards minus infinity. A charge c < R is at most D: no double lies between D and R. If
; R < 2^-1021, the difference is exact, and c = R is at most D as well. Neither R nor D is negative,
; and D is at most B.
;
; Where R was rounded up, a charge of the whole of R is above D: that is the margin's use.
;
; solver: bitwuzla
; control: drop goal
; control: drop not_overdrawn
; control: drop charge_within_remaining
; control: drop charge_below_remaining_or_exact

(set-logic QF_FP)
(define-sort Double () (_ FloatingPoint 11 53))
(define-fun zero () Double (_ +zero 11 53))
(define-fun infinity () Double (_ +oo 11 53))
(define-fun tiny () Double (fp #b0 #b00000000010 #x0000000000000)) ; 2^-1021

(declare-const B Double)
(declare-const C Double)
(declare-const c Double)
(define-fun R () Double (fp.sub RNE B C))
(define-fun D () Double (fp.sub RTN B C))

(assert (! (fp.leq zero C) :named spent_usable))
(assert (! (and (fp.lt C infinity) (fp.lt B infinity)) :named account_finite))
(assert (! (fp.leq C B) :named not_overdrawn))
(assert (! (fp.leq c R) :named charge_within_remaining))
(assert (! (or (fp.lt c R) (fp.lt R tiny)) :named charge_below_remaining_or_exact))

(assert (! (not (and (fp.leq c D) (fp.leq zero R) (fp.leq zero D) (fp.leq D B))) :named goal))
(check-sat)
