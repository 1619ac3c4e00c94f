package db

import (
	"context"
	"database/sql"
	"errors"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// AccessToken returns the token with the hash and its API key, even if one of them has expired or the key is revoked.
// It returns NOT_FOUND after the token was revoked.
func (t *Tenant) AccessToken(ctx context.Context, hash []byte) (*model.AccessToken, error) {
	token := &model.AccessToken{}
	err := t.db.Select(token).Relation("APIKey").Where("access_token.hash = ?", hash).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, model.Errorf(model.NotFound, "the access token does not exist")
	}
	return token, err
}

// CreateAccessToken makes a token for the API key of the request. It returns the token and its text, which is not
// stored. It returns NOT_FOUND when an agent of the input does not exist. It also removes expired tokens of the
// company.
func (t *Tenant) CreateAccessToken(ctx context.Context, in model.CreateAccessTokenInput) (*model.AccessToken, string,
	error) {
	if t.keyID == nil {
		return nil, "", errors.New("an access token can be created only with an API key")
	}
	key := &model.APIKey{}
	if err := t.db.One(ctx, "API key", *t.keyID, key); err != nil {
		return nil, "", err
	}
	at := now()
	token, text, err := model.NewAccessToken(t.store.signer, key, in, at)
	if err != nil {
		return nil, "", err
	}
	if err := t.requireAgents(ctx, token.AgentIDs); err != nil {
		return nil, "", err
	}
	// Each call removes several expired tokens, so that few remain. Rows that another transaction is removing are skipped.
	expired := t.db.Select((*model.AccessToken)(nil)).Column("hash").Where("expires_at <= ?", at).Limit(maxRemoved).
		For("UPDATE SKIP LOCKED")
	return token, text, t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		if _, err := t.db.Delete((*model.AccessToken)(nil)).Where("hash IN (?)", expired).Exec(ctx); err != nil {
			return err
		}
		if err := pg.Insert(ctx, t.db, token); err != nil {
			return err
		}
		return t.audit(ctx, model.AuditActionCreateAccessToken, key.ID)
	})
}

// requireAgents returns NOT_FOUND unless the company has agents with all of the ids.
func (t *Tenant) requireAgents(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	found, err := t.AgentsByID(ctx, ids, "id")
	if err == nil {
		_, err = inOrder("agent", ids, found)
	}
	return err
}

// RevokeAccessToken removes the token with the hash, if it belongs to the API key of the request and has not expired.
// It reports whether it removed the token.
func (t *Tenant) RevokeAccessToken(ctx context.Context, hash []byte) (isRevoked bool, err error) {
	if t.keyID == nil {
		return false, errors.New("only the API key that made an access token can revoke it")
	}
	return isRevoked, t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		isRevoked, err = pg.Affects(t.db.Delete((*model.AccessToken)(nil)).
			Where("hash = ?", hash).Where("api_key_id = ?", *t.keyID).Where("expires_at > ?", now()).Exec(ctx))
		if err != nil || !isRevoked {
			return err
		}
		t.db.OnCommit(t.store.revocations.announce)
		return t.audit(ctx, model.AuditActionRevokeAccessToken, *t.keyID)
	})
}

// maxRemoved bounds the expired tokens that one call of CreateAccessToken removes.
const maxRemoved = 100
