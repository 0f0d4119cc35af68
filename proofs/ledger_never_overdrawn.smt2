; A run without excess never spends more than the budget: not by one unit in the last place.
;
; In IEEE double, as the ledger computes it. If the account reads C <= B and the charge c is at most
; the rounded quotient of the rounded difference B - C by a divisor n >= 1 + 2^-40 (which
; `divisor_above_one.smt2` proves of every step), then the rounded sum C + c is at most B. The cap and
; the gain only lower the threshold (`threshold_below_cap.smt2`).
;
; `rd` is rounding to double, of which IEEE 754 demands: it keeps order, leaves the representable
; alone, and errs by at most u = 2^-53 of the value, plus m = 2^-1075 if the result is subnormal. A
; difference of doubles below 2^-1021 is exact.
;
; The margin is needed: in `ledger_bits.smt2` the solver finds an account that a divisor of 1 overdraws.
; That is why a spec's epsilon is at least 1e-12.
;
; solver: z3
; control: drop goal
; control: drop divisor_margin
; control: drop not_overdrawn
; control: drop charge_within_projection

(declare-fun rd (Real) Real)
(declare-const B Real)
(declare-const C Real)
(declare-const c Real)
(declare-const n Real)
(define-fun u () Real (/ 1.0 9007199254740992.0))   ; 2^-53
(declare-const m Real)                               ; 2^-1075
(declare-const tiny Real)                            ; 2^-1021
(define-fun R () Real (rd (- B C)))
(define-fun q () Real (ite (> R 0) (rd (/ R n)) 0))

(assert (! (and (> m 0) (= tiny (* 18014398509481984.0 m))) :named subnormals)) ; 2^54 m
(assert (! (<= 0 C) :named spent_usable))
(assert (! (<= C B) :named not_overdrawn))
(assert (! (>= n (+ 1.0 (/ 1.0 1099511627776.0))) :named divisor_margin)) ; 1 + 2^-40
(assert (! (and (<= 0 c) (<= c q)) :named charge_within_projection))
(assert (! (= (rd B) B) :named budget_representable))
(assert (! (=> (<= C B) (<= R (* (- B C) (+ 1.0 u)))) :named difference_rounds))
(assert (! (=> (and (<= C B) (< (- B C) tiny)) (= R (- B C))) :named small_difference_exact))
(assert (! (<= (rd (/ R n)) (+ (* (/ R n) (+ 1.0 u)) m)) :named quotient_rounds))
(assert (! (= (rd R) R) :named difference_representable))
(assert (! (=> (<= (/ R n) R) (<= (rd (/ R n)) (rd R))) :named rounding_keeps_order_of_quotient))
(assert (! (=> (<= (+ C c) B) (<= (rd (+ C c)) (rd B))) :named rounding_keeps_order_of_sum))

(assert (! (not (<= (rd (+ C c)) B)) :named goal))
(check-sat)
