package task

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"math/rand/v2"
	"slices"
)

// Draw returns the random stream of that seed and name. Every draw of Seatrial uses a named stream, so no draw moves
// another.
func Draw(seed uint64, name ...string) *rand.Rand {
	sum := hashNames(seed, name)
	return rand.New(rand.NewPCG(binary.LittleEndian.Uint64(sum[:8]), binary.LittleEndian.Uint64(sum[8:16])))
}

// Hash returns 16 hexadecimal digits that depend only on seed and name: for identifiers.
func Hash(seed uint64, name ...string) string {
	sum := hashNames(seed, name)
	return hex.EncodeToString(sum[:8])
}

func hashNames(seed uint64, names []string) [32]byte {
	b := binary.LittleEndian.AppendUint64(nil, seed)
	for _, n := range names {
		b = binary.LittleEndian.AppendUint64(b, uint64(len(n)))
		b = append(b, n...)
	}
	return sha256.Sum256(b)
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	return slices.Sorted(maps.Keys(m))
}
