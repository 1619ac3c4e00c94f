package db

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

const (
	// requestLease is how long a request whose process has died blocks other requests with its id.
	requestLease = 10 * time.Second
	// responseTTL is how long a repeated request gets the same response.
	responseTTL = 24 * time.Hour
)

// untilAfter is the time a number of microseconds from now, by the database's clock.
const untilAfter = "now() + ? * interval '1 microsecond'"

// RequestClaim is the right to execute a request. Call End exactly once.
type RequestClaim struct {
	tenant  *Tenant
	request *model.IdempotentRequest
	// stop ends the renewal of the lease.
	stop func()
}

// ClaimRequest makes a request execute only once, however often it is sent. It returns the stored response of an
// earlier request with the id, or a claim to execute this one. Until the claim ends, no other request gets one, unless
// this process dies. It returns CONFLICT while another request with the id is in progress. It returns UNPROCESSABLE
// when the earlier request has another fingerprint, or when its response was not stored. id and fingerprint are SHA-256
// hashes.
func (t *Tenant) ClaimRequest(ctx context.Context, id,
	fingerprint []byte) (*model.StoredResponse, *RequestClaim, error) {
	request := &model.IdempotentRequest{ID: id, Fingerprint: fingerprint, ClaimID: model.NewID("claim")}
	request.OwnBy(t.CompanyID())
	isNew, err := pg.Affects(t.db.NewInsert().Model(request).Value("until", untilAfter, requestLease.Microseconds()).
		On("CONFLICT (company_id, id) DO NOTHING").Returning("NULL").Exec(ctx))
	if err != nil {
		return nil, nil, err
	}
	if isNew {
		return nil, t.newClaim(ctx, request), nil
	}
	earlier := &model.IdempotentRequest{}
	err = t.db.Select(earlier).ColumnExpr("?TableColumns").ColumnExpr("?TableAlias.until < now() AS is_over").
		ColumnExpr("COALESCE(?TableAlias.carried_out_at < now() - ? * interval '1 microsecond', false) AS is_lost",
			requestLease.Microseconds()).
		Where("id = ?", id).Scan(ctx)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil, errUnderWay() // the other request was in progress until just now
	case err != nil:
		return nil, nil, err
	case earlier.IsOver:
		taken, err := pg.Affects(t.db.Update((*model.IdempotentRequest)(nil)).Set("fingerprint = ?", fingerprint).
			Set("claim_id = ?", request.ClaimID).
			Set("until = "+untilAfter, requestLease.Microseconds()).Set("status = NULL, headers = NULL, body = NULL, "+
			"carried_out_at = NULL").
			Where("id = ?", id).Where("until < now()").Exec(ctx))
		switch {
		case err != nil:
			return nil, nil, err
		case !taken:
			return nil, nil, errUnderWay() // another request was just faster
		}
		return nil, t.newClaim(ctx, request), nil
	case !bytes.Equal(earlier.Fingerprint, fingerprint):
		return nil, nil, model.Errorf(model.Unprocessable, "the Idempotency-Key was used for a different request to "+
			"this path, with another body, query string, content type or scopes: use a new key")
	case earlier.Status == 0 && earlier.IsLost:
		return nil, nil, model.Errorf(model.Unprocessable, "the request with this Idempotency-Key was executed, but its "+
			"response was lost: the server stopped before saving it. Query what the request changed. Sending it again with "+
			"another key would execute it twice")
	case earlier.Status == 0:
		return nil, nil, errUnderWay()
	case earlier.Body == nil:
		return nil, nil, model.Errorf(model.Unprocessable, "the request with this Idempotency-Key was executed, but its "+
			"response cannot be repeated: it was too large to save, or contained a secret")
	}
	return &earlier.StoredResponse, nil, nil
}

func errUnderWay() error {
	return model.Errorf(model.Conflict, "a request with this Idempotency-Key is in progress; send it again in a moment")
}

// newClaim returns the claim of a request, and renews its lease until the claim ends.
func (t *Tenant) newClaim(ctx context.Context, request *model.IdempotentRequest) *RequestClaim {
	// The renewal does not use the company's own connections: the lease would expire while they are all busy.
	ctx = pg.WithConnectionsOf(context.WithoutCancel(ctx), "")
	claim := &RequestClaim{tenant: t, request: request}
	_, claim.stop = onBeat(ctx, requestLease/3, nil, func(ctx context.Context) error {
		// After a failure, try again at the next beat.
		_, _ = t.db.Update((*model.IdempotentRequest)(nil)).Set("until = "+untilAfter, requestLease.Microseconds()).
			ApplyQueryBuilder(claim.isHeld).Where("carried_out_at IS NULL").Exec(ctx)
		return nil
	})
	return claim
}

// isHeld narrows a statement to the request while the claim is valid.
func (c *RequestClaim) isHeld(q bun.QueryBuilder) bun.QueryBuilder {
	return q.Where("id = ?", c.request.ID).Where("claim_id = ?", c.request.ClaimID).Where("status IS NULL")
}

var errClaimLost = errors.New("the claim on the request has expired")

type carriedOutKey struct{}

// CarryOut runs do in one transaction, which also records that the request was executed. After the commit no process
// executes it again, even if this one dies before End. TenantFromContext returns the Tenant of the transaction from the
// context of do. If the claim was lost, CarryOut changes nothing and returns CONFLICT.
func (c *RequestClaim) CarryOut(ctx context.Context, do func(ctx context.Context) error) error {
	return c.tenant.Tx(ctx, func(ctx context.Context, t *Tenant) error {
		if err := do(context.WithValue(ctx, carriedOutKey{}, t)); err != nil {
			return err
		}
		isHeld, err := pg.Affects(t.db.Update((*model.IdempotentRequest)(nil)).Set("carried_out_at = now()").
			Set("until = "+untilAfter, responseTTL.Microseconds()).ApplyQueryBuilder(c.isHeld).Exec(ctx))
		if err == nil && !isHeld {
			err = errUnderWay() // another process took it over
		}
		return err
	})
}

// TenantFromContext returns the Tenant in the transaction of CarryOut, or nil for any other context.
func TenantFromContext(ctx context.Context) *Tenant {
	t, _ := ctx.Value(carriedOutKey{}).(*Tenant)
	return t
}

// End ends the claim and stores the response. If the response is nil, the next request with the id is executed, unless
// this request was executed. It returns an error when the claim was lost.
func (c *RequestClaim) End(ctx context.Context, answer *model.StoredResponse) error {
	c.stop()
	t := c.tenant
	var held bool
	var err error
	if answer == nil {
		held, err = pg.Affects(t.db.Delete((*model.IdempotentRequest)(nil)).ApplyQueryBuilder(c.isHeld).
			Where("carried_out_at IS NULL").Exec(ctx))
		if err == nil && !held {
			held, err = t.db.Select(c.request).ApplyQueryBuilder(c.isHeld).Where("carried_out_at IS NOT NULL").Exists(ctx)
		}
	} else {
		held, err = pg.Affects(t.db.Update((*model.IdempotentRequest)(nil)).Set("status = ?", answer.Status).
			Set("headers = ?", answer.Headers).
			Set("body = ?", answer.Body).Set("until = "+untilAfter, responseTTL.Microseconds()).ApplyQueryBuilder(c.isHeld).
			Exec(ctx))
	}
	if err == nil && !held {
		err = errClaimLost
	}
	return err
}
