package database

// statement is a compiled statement, and its place in the cache.
type statement struct {
	sql        string
	handle     uintptr
	parameters int      // the highest index of a parameter
	columns    []string // unique names
	newer      *statement
	older      *statement
}

// statementCache keeps the compiled statements that were used last.
type statementCache struct {
	capacity int // 0 means one
	finalize func(handle uintptr)
	bySQL    map[string]*statement
	newest   *statement
	oldest   *statement
}

func (c *statementCache) get(sql string) *statement {
	s := c.bySQL[sql]
	if s != nil && s != c.newest {
		c.unlink(s)
		c.link(s)
	}
	return s
}

func (c *statementCache) put(s *statement) {
	if c.bySQL == nil {
		c.bySQL = map[string]*statement{}
	}
	for len(c.bySQL) > 0 && len(c.bySQL) >= c.capacity {
		last := c.oldest
		c.unlink(last)
		delete(c.bySQL, last.sql)
		c.finalize(last.handle)
	}
	c.bySQL[s.sql] = s
	c.link(s)
}

func (c *statementCache) link(s *statement) {
	s.older, s.newer = c.newest, nil
	if c.newest != nil {
		c.newest.newer = s
	} else {
		c.oldest = s
	}
	c.newest = s
}

func (c *statementCache) unlink(s *statement) {
	if s.newer != nil {
		s.newer.older = s.older
	} else {
		c.newest = s.older
	}
	if s.older != nil {
		s.older.newer = s.newer
	} else {
		c.oldest = s.newer
	}
}

func (c *statementCache) clear() {
	for _, s := range c.bySQL {
		c.finalize(s.handle)
	}
	c.bySQL, c.newest, c.oldest = nil, nil, nil
}
