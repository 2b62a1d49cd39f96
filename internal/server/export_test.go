package server

// Routes lists the operations of the API as "METHOD /path".
func Routes() []string {
	var list []string
	for _, r := range routes() {
		list = append(list, r.method+" "+r.path)
	}
	return list
}
