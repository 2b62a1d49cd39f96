package environment

import "errors"

// Kinds of limits of a world.
const (
	limitRows = "rows"
	limitTime = "time"
)

// limitOf gives the kind of the world's limit that err reports, or "".
func limitOf(err error) string {
	var limit interface{ Limit() string }
	if errors.As(err, &limit) {
		return limit.Limit()
	}
	return ""
}
