package proof

import "github.com/seatrial/seatrial/internal/sql/database"

// Neighbours returns the worlds that claims are proven on.
func (p *Prover) Neighbours() []*database.World { return p.neighbours }
