; Raising risks stretches the difference of two by e^b at most: what was noise before is noise after.
;
; Over the reals, with f = e^b >= 1 and 0 <= r <= s <= 1: the raised risks are f r / (1 - r + f r) and likewise
; for s, and their difference is at most f (s - r). So a difference below the resolution is below e^b times the
; resolution once risks are raised.
;
; solver: z3
; control: drop goal
; control: drop raises
; control: drop ordered

(declare-const r Real)
(declare-const s Real)
(declare-const f Real)
(declare-const x Real)     ; r raised
(declare-const y Real)     ; s raised

(assert (! (and (<= 0 r) (<= r 1) (<= 0 s) (<= s 1)) :named probabilities))
(assert (! (<= r s) :named ordered))
(assert (! (>= f 1) :named raises))
(assert (! (= (* x (+ (- 1 r) (* f r))) (* f r)) :named r_raised))
(assert (! (= (* y (+ (- 1 s) (* f s))) (* f s)) :named s_raised))

(assert (! (not (<= (- y x) (* f (- s r)))) :named goal))
(check-sat)
