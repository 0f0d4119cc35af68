; Less remaining budget or a smaller gain never gives a larger threshold.
;
; In any correctly rounded arithmetic; `rd` is rounding, of which only order is assumed. Two
; shields at the same step (the same divisor n > 0 and cap) have spent C1 <= C2 of the same budget,
; and have gains g1 >= g2. Then tau2 <= tau1, though each of difference, quotient and product is
; rounded. What tau2 admits, tau1 admits. Monotone operations in a row make a monotone threshold, so
; this holds in every format, and needs no bits.
;
; solver: z3
; control: drop goal
; control: drop spent_more
; control: drop gain_tighter
; control: drop divisor_positive
; control: drop rounding_keeps_order_of_quotients

(declare-fun rd (Real) Real)
(declare-const B Real)
(declare-const n Real)
(declare-const cap Real)
(declare-const C1 Real)
(declare-const C2 Real)
(declare-const g1 Real)
(declare-const g2 Real)

(define-fun R1 () Real (rd (- B C1)))
(define-fun R2 () Real (rd (- B C2)))
(define-fun q1 () Real (ite (> R1 0) (rd (/ R1 n)) 0))
(define-fun q2 () Real (ite (> R2 0) (rd (/ R2 n)) 0))
(define-fun x1 () Real (ite (<= q1 cap) q1 cap))
(define-fun x2 () Real (ite (<= q2 cap) q2 cap))
(define-fun p1 () Real (rd (* x1 g1)))
(define-fun p2 () Real (rd (* x2 g2)))
(define-fun tau1 () Real (ite (<= x1 p1) x1 p1))
(define-fun tau2 () Real (ite (<= x2 p2) x2 p2))

(assert (! (> n 0) :named divisor_positive))
(assert (! (> cap 0) :named cap_positive))
(assert (! (<= C1 C2) :named spent_more))
(assert (! (<= g2 g1) :named gain_tighter))
(assert (! (< 0 g2) :named gain_positive))
(assert (! (= (rd 0.0) 0.0) :named zero_representable))
(assert (! (=> (<= (- B C2) (- B C1)) (<= R2 R1)) :named rounding_keeps_order_of_differences))
(assert (! (=> (<= (/ R2 n) (/ R1 n)) (<= (rd (/ R2 n)) (rd (/ R1 n)))) :named rounding_keeps_order_of_quotients))
(assert (! (=> (<= 0.0 (/ R1 n)) (<= (rd 0.0) (rd (/ R1 n)))) :named rounding_keeps_sign_of_first))
(assert (! (=> (<= 0.0 (/ R2 n)) (<= (rd 0.0) (rd (/ R2 n)))) :named rounding_keeps_sign_of_second))
(assert (! (=> (<= (* x2 g2) (* x1 g1)) (<= p2 p1)) :named rounding_keeps_order_of_products))

(assert (! (not (<= tau2 tau1)) :named goal))
(check-sat)
