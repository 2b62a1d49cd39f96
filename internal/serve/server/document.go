package server

import (
	_ "embed"
	"net/http"

	"github.com/swaggest/swgui"
	"github.com/swaggest/swgui/v5emb"
)

// documentText is the OpenAPI 3.1 document of the API. It is written by hand; a test compares it with [routes].
//
//go:embed openapi.json
var documentText []byte

// serveDocuments serves the document and the page about it. They contain nothing of a suite and need no token.
func (a *api) serveDocuments(mux *http.ServeMux) {
	mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		send(w, http.StatusOK, documentText)
	})
	page := v5emb.NewHandlerWithConfig(swgui.Config{
		Title: "Seatrial", SwaggerJSON: "/openapi.json", BasePath: "/docs/",
		SettingsUI: map[string]string{"validatorUrl": "null"},
	})
	mux.HandleFunc("GET /docs/", func(w http.ResponseWriter, r *http.Request) {
		// Whatever the page is made of: nothing of it comes from anywhere else.
		w.Header().Set("Content-Security-Policy",
			"default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:")
		page.ServeHTTP(w, r)
	})
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/docs/", http.StatusFound)
	})
}
