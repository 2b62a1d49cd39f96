package episode

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Opinions are what judge models said of episodes. They stand beside the grades and never among them: a run can be
// graded without any, and an opinion once given is kept.
const opinionsSQL = `
CREATE TABLE IF NOT EXISTS opinions ( -- one row an episode and judge
  episode       TEXT NOT NULL,
  judge         TEXT NOT NULL,        -- PROVIDER/NAME of a model
  json          TEXT NOT NULL,
  PRIMARY KEY (episode, judge)
) WITHOUT ROWID`

// PutOpinions keeps what a judge says of episodes, as JSON by the episode's id. An opinion that is there already stays.
// They are on the disk when it returns.
func (s *Store) PutOpinions(ctx context.Context, judge string, opinions map[string]json.RawMessage) error {
	if s.write == nil {
		return fmt.Errorf("write run %s: it is open for reading alone", s.path)
	}
	err := transact(ctx, s.write, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, opinionsSQL); err != nil {
			return err
		}
		for _, id := range slices.Sorted(maps.Keys(opinions)) {
			var known bool
			if err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM episodes WHERE id = ?)`,
				id).Scan(&known); err != nil {
				return err
			}
			if !known {
				return fmt.Errorf("there is no episode %s to have an opinion of", id)
			}
			_, err := tx.ExecContext(ctx, `INSERT OR IGNORE INTO opinions VALUES (?, ?, ?)`, id, judge, string(opinions[id]))
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("write run %s: %w", s.path, err)
	}
	return nil
}

// Opinion is what one judge said of one episode.
type Opinion struct {
	Episode string
	Judge   string
	JSON    json.RawMessage
}

// Opinions lists what judges said, by episode and judge. A run that no judge has looked at has none.
func (s *Store) Opinions(ctx context.Context) ([]Opinion, error) {
	var there bool
	err := s.read.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'opinions')`).Scan(&there)
	if err != nil || !there {
		return nil, wrapRead(s, err)
	}
	rows, err := s.read.QueryContext(ctx, `SELECT episode, judge, json FROM opinions ORDER BY episode, judge`)
	if err != nil {
		return nil, wrapRead(s, err)
	}
	defer func() { _ = rows.Close() }()
	var list []Opinion
	for rows.Next() {
		var o Opinion
		var text string
		if err := rows.Scan(&o.Episode, &o.Judge, &text); err != nil {
			return nil, wrapRead(s, err)
		}
		o.JSON = json.RawMessage(text)
		list = append(list, o)
	}
	return list, wrapRead(s, rows.Err())
}

func wrapRead(s *Store, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("read run %s: %w", s.path, err)
}
