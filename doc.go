// Package seatrial measures whether tool-using language-model agents still get the job done when tools fail. The
// command is cmd/seatrial; this package contains only the tests that guard the repository itself.
package seatrial
