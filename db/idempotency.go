package db

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/model"
)

const (
	// requestLease is how long a request whose process has died keeps others from being carried out under its id.
	requestLease = 10 * time.Second
	// answerKept is how long a request can be repeated with the same answer.
	answerKept = 24 * time.Hour
)

// untilAfter sets the end of a row by the database's clock.
const untilAfter = "now() + ? * interval '1 microsecond'"

// EndRequest ends the claim of a request, with the response to keep, or nil to let the next one with its id be carried
// out. It returns an error when the claim was lost meanwhile. It must be called once.
type EndRequest = func(ctx context.Context, answer *model.KeptResponse) error

// ClaimRequest lets a request be carried out once, however often it is sent. It returns what the request was
// answered before, or, when it is to be carried out now, what ends the claim; until then nobody else gets it, unless
// this process dies. CONFLICT while somebody else carries it out; UNPROCESSABLE when the id belongs to a request with
// another fingerprint, and when the response was not kept. Both are a SHA-256.
func (t *Tenant) ClaimRequest(ctx context.Context, id, fingerprint []byte) (*model.KeptResponse, EndRequest, error) {
	request := &model.IdempotentRequest{ID: id, Fingerprint: fingerprint, ClaimID: model.NewID("claim")}
	request.OwnBy(t.companyID)
	isNew, err := affects(t.db.NewInsert().Model(request).Value("until", untilAfter, requestLease.Microseconds()).
		On("CONFLICT (company_id, id) DO NOTHING").Returning("NULL").Exec(ctx))
	if err != nil {
		return nil, nil, err
	}
	if isNew {
		return nil, t.keepRequestAlive(ctx, request), nil
	}
	before := &model.IdempotentRequest{}
	err = t.find(before).ColumnExpr("?TableColumns").ColumnExpr("?TableAlias.until < now() AS is_over").Where("id = ?", id).Scan(ctx)
	underWay := model.Errorf(model.Conflict, "a request with this Idempotency-Key is being carried out; send it again in a moment")
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil, underWay // or was a moment ago
	case err != nil:
		return nil, nil, translate(err)
	case before.IsOver:
		taken, err := affects(t.change((*model.IdempotentRequest)(nil)).Set("fingerprint = ?", fingerprint).Set("claim_id = ?", request.ClaimID).
			Set("until = "+untilAfter, requestLease.Microseconds()).Set("status = NULL, headers = NULL, body = NULL").
			Where("id = ?", id).Where("until < now()").Exec(ctx))
		switch {
		case err != nil:
			return nil, nil, err
		case !taken:
			return nil, nil, underWay // by somebody else, just now
		}
		return nil, t.keepRequestAlive(ctx, request), nil
	case !bytes.Equal(before.Fingerprint, fingerprint):
		return nil, nil, model.Errorf(model.Unprocessable, "the Idempotency-Key belongs to another request to this path: its body, "+
			"query string or content type was another one, or its API key had other scopes")
	case before.Status == 0:
		return nil, nil, underWay
	case before.Body == nil:
		return nil, nil, model.Errorf(model.Unprocessable, "the request with this Idempotency-Key was carried out; its response was too large "+
			"to be kept or showed a secret, and cannot be repeated")
	}
	return &before.KeptResponse, nil, nil
}

// keepRequestAlive keeps a claim alive until the function that it returns ends it.
func (t *Tenant) keepRequestAlive(ctx context.Context, request *model.IdempotentRequest) EndRequest {
	// Not the company's own connections: while they are all busy, its lease would run out.
	ctx, cancel := context.WithCancel(withParty(context.WithoutCancel(ctx), ""))
	stopped := make(chan struct{})
	ours := func(q bun.QueryBuilder) bun.QueryBuilder {
		return q.Where("id = ?", request.ID).Where("claim_id = ?", request.ClaimID).Where("status IS NULL")
	}
	go func() {
		defer close(stopped)
		beat := time.NewTicker(requestLease / 3)
		defer beat.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-beat.C:
				// A database that is away may be back at the next beat.
				_, _ = t.change((*model.IdempotentRequest)(nil)).Set("until = "+untilAfter, requestLease.Microseconds()).
					ApplyQueryBuilder(ours).Exec(ctx)
			}
		}
	}()
	return func(ctx context.Context, answer *model.KeptResponse) error {
		cancel()
		<-stopped
		var held bool
		var err error
		if answer == nil {
			held, err = affects(t.remove((*model.IdempotentRequest)(nil)).ApplyQueryBuilder(ours).Exec(ctx))
		} else {
			held, err = affects(t.change((*model.IdempotentRequest)(nil)).Set("status = ?", answer.Status).Set("headers = ?", answer.Headers).
				Set("body = ?", answer.Body).Set("until = "+untilAfter, answerKept.Microseconds()).ApplyQueryBuilder(ours).Exec(ctx))
		}
		if err == nil && !held {
			err = errors.New("the claim of the request was lost")
		}
		return err
	}
}

// forgetRequests removes expired requests.
func (s *Store) forgetRequests(ctx context.Context) error {
	companies, err := s.companiesWith(ctx, "SELECT 1 FROM idempotent_requests AS r WHERE r.company_id = ?TableAlias.id AND r.until < now()")
	return errors.Join(err, s.inTurns(companies, func(t *Tenant) (bool, error) {
		oldest := t.find((*model.IdempotentRequest)(nil)).Column("id").Where("until < now()").Order("until", "id").Limit(rowsPerRemoval)
		result, err := t.remove((*model.IdempotentRequest)(nil)).Where("id IN (?)", oldest).Where("until < now()").Exec(ctx)
		return isFull(result, err, rowsPerRemoval)
	}))
}
