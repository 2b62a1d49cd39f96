package verify

import "github.com/seatrial/seatrial/internal/database"

// Neighbours gives the worlds that claims are proven on.
func (p *Prover) Neighbours() []*database.World { return p.neighbours }
