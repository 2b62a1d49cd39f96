package sqlast_test

import (
	"strings"
	"testing"

	"github.com/seatrial/seatrial/internal/sql/sqlast"
)

func TestCompared(t *testing.T) {
	for statement, want := range map[string]string{
		"SELECT a FROM t WHERE t.b > ?1 AND 5 >= c":                                  "b; c",
		"SELECT a FROM t JOIN u ON t.b = u.b":                                        "",
		"SELECT a FROM t JOIN u ON t.b = u.b AND u.c = 2":                            "c",
		"SELECT a FROM t WHERE b BETWEEN ?1 AND c":                                   "b",
		"SELECT a FROM t WHERE b BETWEEN d AND c":                                    "",
		"SELECT a FROM t WHERE b IN (1, 2) OR c IN (SELECT d FROM u)":                "b",
		"SELECT a FROM t WHERE b IN (SELECT c FROM u WHERE d < 1997 - 01)":           "d",
		"SELECT count(*) FROM t GROUP BY b HAVING count(*) > 1":                      "count",
		"SELECT count(*) FROM t GROUP BY b HAVING avg(t.price) > (SELECT 1 FROM u)":  "",
		"SELECT avg(price) FROM t GROUP BY b HAVING round(avg(t.price), 1) >= ?1":    "avg price",
		"SELECT sum(CASE WHEN age > 20 THEN 1 ELSE 0 END) FROM t":                    "age",
		"SELECT a FROM t WHERE day > date('now') AND b IS NOT 3 AND count(*) <> 'x'": "day; b; count",
		"SELECT a FROM": "",
	} {
		if got := strings.Join(sqlast.Compared(statement), "; "); got != want {
			t.Errorf("%s: %q, want %q", statement, got, want)
		}
	}
}

func TestReadsTable(t *testing.T) {
	for statement, want := range map[string]bool{
		"SELECT a FROM t": true,
		"SELECT value FROM json_each(?1) INTERSECT SELECT value FROM json_each(?2)": false,
		"SELECT value FROM json_each(?1) EXCEPT SELECT a FROM t":                    true,
		"SELECT a FROM t WHERE a IN (SELECT value FROM json_each(?1))":              true,
		"SELECT count(*) FROM (SELECT value FROM json_each(?1))":                    false,
		"SELECT ?1 + 1": false,
	} {
		if got := sqlast.ReadsTable(statement); got != want {
			t.Errorf("%s: %v, want %v", statement, got, want)
		}
	}
}
