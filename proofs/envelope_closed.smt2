; The anytime envelope survives every decision after the horizon.
;
; Over the reals. Once t >= T the threshold is 0 and the line has stopped at F = B T / (T + epsilon).
; If C <= F + E before a decision that is charged c >= 0, then C' <= F + E' after it.
;
; solver: z3
; control: drop goal
; control: drop envelope_before
; control: drop threshold_closed

(declare-const F Real)    ; where the line stopped
(declare-const C Real)    ; spent before the decision
(declare-const E Real)    ; excess before the decision
(declare-const tau Real)
(declare-const c Real)    ; charge

(define-fun e () Real (ite (> c tau) (- c tau) 0))

(assert (! (> F 0) :named line_positive))
(assert (! (= tau 0) :named threshold_closed))
(assert (! (>= c 0) :named charge_usable))
(assert (! (<= C (+ F E)) :named envelope_before))

(assert (! (not (<= (+ C c) (+ F E e))) :named goal))
(check-sat)
