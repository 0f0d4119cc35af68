; In doubles, too, recalibration never lowers a risk, and a probability stays one.
;
; In IEEE double, as `Recalibration::raise` computes it: 1 / (1 + y), where y stands for the rounded
; product of e^-b and the odds against an incident, and the risk itself if that is not greater. For
; a risk 0 <= r <= 1 the result lies between r and 1. Of y it is assumed that it is not negative, which
; neither factor is; it may be infinite or NaN.
;
; solver: bitwuzla
; control: drop goal
; control: drop odds_not_negative
; control: drop repaired

(set-logic QF_FP)
(define-sort Double () (_ FloatingPoint 11 53))
(define-fun zero () Double (_ +zero 11 53))
(define-fun one () Double ((_ to_fp 11 53) RNE 1.0))

(declare-const r Double)
(declare-const y Double)
(declare-const result Double)
(define-fun raised () Double (fp.div RNE one (fp.add RNE one y)))

(assert (! (and (fp.leq zero r) (fp.leq r one)) :named risk_a_probability))
(assert (! (not (fp.lt y zero)) :named odds_not_negative))
(assert (! (or (= result raised) (= result r)) :named computed))
(assert (! (= result (ite (fp.lt r raised) raised r)) :named repaired))

(assert (! (not (and (fp.leq r result) (fp.leq result one))) :named goal))
(check-sat)
