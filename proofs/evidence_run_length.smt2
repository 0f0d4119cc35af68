; The evidence less the number of decisions is a supermartingale if surprises have no positive mean.
;
; Over the reals, for a surprise that is d1 with probability p and d2 otherwise; a surprise with more
; values is a mixture of such. If p d1 + (1 - p) d2 <= 0, S >= 0 and the stake is not negative, then the
; expected sum after it is at most S + 1. So S - t has no upward drift, and by optional stopping the
; expected number of decisions until S passes A is at least A.
;
; solver: z3
; control: drop goal
; control: drop no_positive_mean
; control: drop stake_usable
; control: drop sum_usable

(declare-const S Real)
(declare-const s Real)     ; the stake
(declare-const p Real)
(declare-const d1 Real)
(declare-const d2 Real)
(define-fun grown ((d Real)) Real (* (+ S 1) (+ 1 (* s d))))

(assert (! (>= S 0) :named sum_usable))
(assert (! (>= s 0) :named stake_usable))
(assert (! (and (<= 0 p) (<= p 1)) :named probability))
(assert (! (<= (+ (* p d1) (* (- 1 p) d2)) 0) :named no_positive_mean))

(assert (! (not (<= (+ (* p (grown d1)) (* (- 1 p) (grown d2))) (+ S 1))) :named goal))
(check-sat)
