; A price never runs an inadmissible action, nor one that costs more than an admissible proposal.
;
; In IEEE double: one step of the search in `price.rs`, for any worths and costs, NaN and the infinities
; among them. If the best so far costs at most tau (or there is none), and at most the proposal where
; that is admissible, so does the best after one more action of cost c and worth w.
;
; solver: bitwuzla
; control: drop goal
; control: drop admitted_only
; control: drop cheaper_only

(set-logic QF_FP)
(define-sort Double () (_ FloatingPoint 11 53))
(define-fun zero () Double (_ +zero 11 53))

(declare-const tau Double)
(declare-const proposed Double)    ; the proposal's cost
(declare-const best Double)        ; the cost of the best so far
(declare-const greatest Double)    ; its worth
(declare-const none Bool)          ; there is none yet
(declare-const c Double)
(declare-const w Double)
(declare-const taken Bool)
(declare-const after Double)
(define-fun admits ((cost Double)) Bool (and (fp.leq zero cost) (fp.leq cost tau)))
(define-fun kept ((cost Double)) Bool
    (and (admits cost) (=> (admits proposed) (fp.leq cost proposed))))

; An admissible proposal is where the search begins, so there is a best from then on.
(assert (! (=> (admits proposed) (not none)) :named begins_with_the_proposal))
(assert (! (=> (not none) (kept best)) :named kept_before))
(assert (! (=> taken (or none (fp.lt greatest w))) :named worth_more))
(assert (! (=> taken (admits c)) :named admitted_only))
(assert (! (=> (and taken (admits proposed)) (fp.lt c proposed)) :named cheaper_only))
(assert (! (= after (ite taken c best)) :named chosen))

(assert (! (not (=> (or taken (not none)) (kept after))) :named goal))
(check-sat)
