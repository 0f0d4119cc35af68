; In the calibrated world the e-value of an episode has a mean of at most 1.
;
; Over the reals, for six bins: p_k is the probability that an episode falls into bin k, u_k an upper bound
; of it, and w_k what is bet on it. If the w sum to 1, the mean of w_k / u_k is at most 1. So
; e - 1 has no positive mean, and evidence_run_length.smt2 has the rest: the expected number of episodes until a
; detector that bets on it passes A is at least A.
;
; solver: z3
; control: drop goal
; control: drop bounded
; control: drop weights_usable
; control: drop weights_sum

(declare-const p0 Real) (declare-const u0 Real) (declare-const w0 Real)
(declare-const p1 Real) (declare-const u1 Real) (declare-const w1 Real)
(declare-const p2 Real) (declare-const u2 Real) (declare-const w2 Real)
(declare-const p3 Real) (declare-const u3 Real) (declare-const w3 Real)
(declare-const p4 Real) (declare-const u4 Real) (declare-const w4 Real)
(declare-const p5 Real) (declare-const u5 Real) (declare-const w5 Real)
; The part of a bin in the mean, p w / u: the m with m u = p w.
(declare-const m0 Real) (declare-const m1 Real) (declare-const m2 Real)
(declare-const m3 Real) (declare-const m4 Real) (declare-const m5 Real)

(assert (! (and (= (* m0 u0) (* p0 w0)) (= (* m1 u1) (* p1 w1)) (= (* m2 u2) (* p2 w2))
                (= (* m3 u3) (* p3 w3)) (= (* m4 u4) (* p4 w4)) (= (* m5 u5) (* p5 w5))) :named parts))
(assert (! (and (>= p0 0) (>= p1 0) (>= p2 0) (>= p3 0) (>= p4 0) (>= p5 0)) :named probabilities))
(assert (! (and (> u0 0) (> u1 0) (> u2 0) (> u3 0) (> u4 0) (> u5 0)) :named bounds_usable))
(assert (! (and (<= p0 u0) (<= p1 u1) (<= p2 u2) (<= p3 u3) (<= p4 u4) (<= p5 u5)) :named bounded))
(assert (! (and (>= w0 0) (>= w1 0) (>= w2 0) (>= w3 0) (>= w4 0) (>= w5 0)) :named weights_usable))
(assert (! (= (+ w0 w1 w2 w3 w4 w5) 1) :named weights_sum))

(assert (! (not (<= (+ m0 m1 m2 m3 m4 m5) 1)) :named goal))
(check-sat)
