; The evidence stays finite and never falls below 0, whatever it is told.
;
; In IEEE double, as `Evidence::learn` computes it. Let 0 <= S <= G be one sum, with G = 1e300, a stake
; 0 <= s < 1, and x any double, NaN and the infinities among them. A surprise is x if -1 <= x <= 1, else
; 1, and the sum becomes min((S + 1)(1 + s d), G). It stays between 0 and G.
;
; Without the check of the surprise, or with a stake above 1, it can become negative.
;
; solver: bitwuzla
; control: drop goal
; control: drop surprise_checked
; control: drop stake_below_one

(set-logic QF_FP)
(define-sort Double () (_ FloatingPoint 11 53))
(define-fun zero () Double (_ +zero 11 53))
(define-fun one () Double ((_ to_fp 11 53) RNE 1.0))
(define-fun greatest () Double ((_ to_fp 11 53) RNE 1000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000.0))

(declare-const S Double)
(declare-const s Double)    ; the stake
(declare-const x Double)    ; what was told
(declare-const d Double)    ; the surprise
(define-fun factor () Double (fp.add RNE one (fp.mul RNE s d)))
(define-fun grown () Double (fp.mul RNE (fp.add RNE S one) factor))
(define-fun after () Double (ite (fp.lt grown greatest) grown greatest))

(assert (! (and (fp.leq zero S) (fp.leq S greatest)) :named sum_usable))
(assert (! (fp.leq zero s) :named stake_usable))
(assert (! (fp.lt s one) :named stake_below_one))
(assert (! (or (= d x) (= d one)) :named surprise))
(assert (! (= d (ite (and (fp.leq (fp.neg one) x) (fp.leq x one)) x one)) :named surprise_checked))

(assert (! (not (and (fp.leq zero after) (fp.leq after greatest))) :named goal))
(check-sat)
