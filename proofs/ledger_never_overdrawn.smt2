; A run without excess never spends more than the budget: not by one unit in the last place.
;
; In IEEE double, as the ledger computes it: if the account reads 0 <= C <= B and a charge c >= 0 is at
; most the threshold, then the rounded sum C + c is at most B. An account starts at 0, so this holds to
; the end. This file joins the steps, each proved bit by bit in the file of its name, by the order of
; doubles alone: R, q, tau, D and the sums stand for whatever the arithmetic gave, and all that is
; known of them is what those files prove. Every step is needed: without it, the solver finds numbers
; that end above B.
;
; This holds at every pace: `divisor_under_pace.smt2` proves the margin that the steps ask for. And as a
; cost that is charged by prediction is the cost that was judged, an enforced account charged by
; prediction has no excess but where no action was admissible.
;
; The margin of the divisor is why a spec's epsilon is at least 1e-12: `projection_below_remaining.smt2`
; fails without it, and a test of the shield shows an account that a divisor of 1 overdraws.
;
; solver: bitwuzla
; control: drop goal
; control: drop no_excess
; control: drop threshold_below_cap
; control: drop projection_within_remaining
; control: drop projection_below_remaining
; control: drop ledger_difference
; control: drop ledger_sum_monotone
; control: drop ledger_sum

(set-logic QF_FP)
(define-sort Double () (_ FloatingPoint 11 53))
(define-fun tiny () Double (fp #b0 #b00000000010 #x0000000000000)) ; 2^-1021

(declare-const B Double)
(declare-const c Double)             ; the charge
(declare-const tau Double)           ; the threshold
(declare-const q Double)             ; the projection, R over its divisor, or 0 once nothing is left
(declare-const R Double)             ; B - C, rounded to nearest
(declare-const D Double)             ; B - C, rounded down
(declare-const sum_with_c Double)    ; C + c
(declare-const sum_with_D Double)    ; C + D

(assert (! (fp.leq c tau) :named no_excess))
(assert (! (fp.leq tau q) :named threshold_below_cap))
(assert (! (fp.leq q R) :named projection_within_remaining))
(assert (! (=> (fp.leq tiny R) (fp.lt q R)) :named projection_below_remaining))
(assert (! (=> (and (fp.leq c R) (or (fp.lt c R) (fp.lt R tiny))) (fp.leq c D)) :named ledger_difference))
(assert (! (=> (fp.leq c D) (fp.leq sum_with_c sum_with_D)) :named ledger_sum_monotone))
(assert (! (fp.leq sum_with_D B) :named ledger_sum))

(assert (! (not (fp.leq sum_with_c B)) :named goal))
(check-sat)
