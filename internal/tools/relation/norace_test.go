//go:build !race

package relation_test

const underRace = false
