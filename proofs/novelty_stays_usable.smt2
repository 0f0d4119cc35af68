; A detector's sum stays finite and never falls below 0, alone and when a fleet's are put together.
;
; In IEEE double, as `Sum::learn` and `Sum::absorb` compute it. Let 0 <= S, a, b <= G with G = 1e300. A factor
; is 1 + s (w / u - 1), of a stake 0 < s < 1, a weight 0 <= w <= 1 and a bound 0 < u <= 1; w / u may overflow. Then
; min((S + 1) factor, G) and min(a S + b, G), where G also stands for what has overflowed, stay between 0 and G.
;
; With a weight below 0, a bound below 0, or a fork out of range, they need not.
;
; solver: bitwuzla
; control: drop goal
; control: drop bound_usable
; control: drop weight_usable
; control: drop fork_usable

(set-logic QF_FP)
(define-sort Double () (_ FloatingPoint 11 53))
(define-fun zero () Double (_ +zero 11 53))
(define-fun one () Double ((_ to_fp 11 53) RNE 1.0))
(define-fun greatest () Double ((_ to_fp 11 53) RNE 1000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000.0))
(define-fun limited ((x Double)) Double (ite (fp.lt x greatest) x greatest))
(define-fun usable ((x Double)) Bool (and (fp.leq zero x) (fp.leq x greatest)))

(declare-const S Double)
(declare-const w Double)    ; the weight of a bin
(declare-const u Double)    ; its bound
(declare-const s Double)    ; the stake
(declare-const a Double)    ; the product of a fork
(declare-const b Double)    ; what it would have made of 0
(define-fun factor () Double (fp.add RNE one (fp.mul RNE s (fp.sub RNE (fp.div RNE w u) one))))
(define-fun learned () Double (limited (fp.mul RNE (fp.add RNE S one) factor)))
(define-fun joined () Double (limited (fp.add RNE (fp.mul RNE a S) b)))

(assert (! (usable S) :named sum_usable))
(assert (! (and (fp.leq zero w) (fp.leq w one)) :named weight_usable))
(assert (! (and (fp.lt zero u) (fp.leq u one)) :named bound_usable))
(assert (! (and (fp.lt zero s) (fp.lt s one)) :named stake_usable))
(assert (! (and (usable a) (usable b)) :named fork_usable))

(assert (! (not (and (usable learned) (usable joined))) :named goal))
(check-sat)
