package recovery

import (
	"github.com/seatrial/seatrial/internal/task"
)

var missingTactic = &tactic{
	TacticInfo: TacticInfo{"missing", "a note says which value means a missing one: reads it as missing"},
	undo: func(f *finding) bool {
		return f.eachColumn(func(column int) bool {
			said, ok := f.ofColumn(column, "missing", "null", "sentinel", "absent")
			if !ok || said == nil {
				return false
			}
			declared, isList := said.([]any)
			if !isList {
				declared = []any{said}
			}
			return f.mapColumn(column, func(v any) any {
				for _, d := range declared {
					if d, ok := scalar(d); ok && task.Equal(task.MustScalar(v), task.MustScalar(d)) {
						return nil
					}
				}
				return v
			})
		})
	},
}
