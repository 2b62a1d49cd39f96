package model

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/seatrial/seatrial/internal/diag"
)

// Embedder makes vectors of texts through an OpenAI-compatible /v1/embeddings endpoint, with the retries, limits and
// records of a [Client]. It is safe for concurrent use.
type Embedder struct{ client *client }

// OpenEmbedder makes the embedder of a specification PROVIDER/NAME, as [Open] does. Anthropic has no such endpoint.
func OpenEmbedder(spec string, o Options) (*Embedder, error) {
	opened, err := Open(spec, o)
	if err != nil {
		return nil, err
	}
	c := opened.(*client)
	if c.provider != ProviderOpenAI {
		return nil, diag.Usagef("%s makes no vectors of texts", c.provider).
			WithHint("give a model behind an OpenAI-compatible /v1/embeddings endpoint, as %s/NAME", ProviderOpenAI)
	}
	base, err := baseURL(c.provider, o)
	if err != nil {
		return nil, err
	}
	options := []option.RequestOption{
		option.WithBaseURL(base), option.WithMaxRetries(0),
		option.WithHTTPClient(&http.Client{Transport: tap{}, CheckRedirect: noRedirect}),
	}
	if o.APIKey != "" {
		options = append(options, option.WithAPIKey(o.APIKey))
	}
	c.wire = &embeddings{openai.NewEmbeddingService(options...)}
	return &Embedder{c}, nil
}

// Embed gives a vector for each text, in their order. Errors are those of [Client].
func (e *Embedder) Embed(ctx context.Context, texts []string) ([][]float64, error) {
	r := Request{Messages: make([]Message, len(texts))}
	for i, text := range texts {
		r.Messages[i] = Message{Role: RoleUser, Content: text}
	}
	reply, err := e.client.Complete(ctx, r)
	if err != nil {
		return nil, err
	}
	return decodeEmbeddings(reply.Message.Raw, len(texts))
}

// embeddings is the form of /v1/embeddings. Its texts stand as the messages of a request, its reply as the raw body.
type embeddings struct{ service openai.EmbeddingService }

func (w *embeddings) outputEstimate(Request) int { return 0 }

func (w *embeddings) send(ctx context.Context, r Request) error {
	texts := make([]string, len(r.Messages))
	for i := range r.Messages {
		texts[i] = r.Messages[i].Content
	}
	var body []byte
	_, err := w.service.New(ctx, openai.EmbeddingNewParams{
		Model: r.Model, Input: openai.EmbeddingNewParamsInputUnion{OfArrayOfStrings: texts},
		EncodingFormat: openai.EmbeddingNewParamsEncodingFormatFloat,
	}, option.WithResponseBodyInto(&body))
	return err
}

func (w *embeddings) decode(body []byte, texts int) (*Reply, error) {
	if _, err := decodeEmbeddings(body, texts); err != nil {
		return nil, err
	}
	var used struct {
		Model string `json:"model"`
		Usage *struct {
			Input count `json:"prompt_tokens"`
		} `json:"usage"`
	}
	if err := json.Unmarshal(body, &used); err != nil {
		return nil, fmt.Errorf("embeddings: %w", err)
	}
	reply := &Reply{Message: Message{Role: RoleAssistant, Raw: body}, Model: used.Model, Finish: FinishStop}
	reply.Usage.Requests = 1
	if used.Usage != nil {
		reply.Usage.InputTokens = int(used.Usage.Input)
	}
	return reply, nil
}

// decodeEmbeddings reads vectors, each in the place that its index says. Every text has to have one.
func decodeEmbeddings(body []byte, texts int) ([][]float64, error) {
	var reply struct {
		Data []struct {
			Index  *int      `json:"index"`
			Vector []float64 `json:"embedding"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &reply); err != nil {
		return nil, fmt.Errorf("embeddings: %w", err)
	}
	vectors := make([][]float64, texts)
	for i, d := range reply.Data {
		at := i
		if d.Index != nil {
			at = *d.Index
		}
		if at < 0 || at >= texts || vectors[at] != nil || len(d.Vector) == 0 {
			return nil, fmt.Errorf("embeddings: vector %d is empty, stands twice, or is of no text", at)
		}
		vectors[at] = d.Vector
	}
	if len(reply.Data) != texts {
		return nil, fmt.Errorf("embeddings: %d vectors for %d texts", len(reply.Data), texts)
	}
	return vectors, nil
}
