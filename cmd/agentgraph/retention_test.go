package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
)

func TestRetentionAndCompanyDeletionRemoveRows(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	store := dbtest.Open(t, address, dbtest.Options())
	newCompany(t, store, "Acme")
	newCompany(t, store, "Other")
	command := func(want int, in string, args ...string) string {
		var out, log bytes.Buffer
		code := run(t.Context(), append(args, "--company", "Acme", "--database-url", address),
			streams{in: strings.NewReader(in), out: &out, log: &log})
		require.Equal(t, want, code, log.String())
		return strings.Join(strings.Fields(out.String()+log.String()), " ")
	}
	require.Equal(t, "Chats forever Executions forever CampaignItems forever Tombstones forever Ledger forever",
		command(0, "", "retention", "show"))
	require.Equal(t, "Chats 365 days Executions 90 days CampaignItems forever Tombstones forever Ledger forever",
		command(0, "", "retention", "set", "--chats", "365", "--executions", "90"))
	require.Contains(t, command(2, "", "retention", "set"),
		"retention set: name a kind of data with its number of days, such as --chats 365")
	for flag, value := range map[string]string{"--chats": "99999999999", "--executions": "-1", "--ledger": "40001",
		"--tombstones": "x"} {
		require.Contains(t, command(2, "", "retention", "set", "--campaign-items", "0", flag+"="+value),
			flag+`: expected a number of days between 0 and 40000 but got "`+value+`"`)
	}
	require.Equal(t, `{"Chats":365,"Executions":90}`, strings.ReplaceAll(command(0, "", "retention", "show", "--json"),
		" ", ""))

	const nothing = "campaign items deleted 0 other campaign items from which the number was removed 0 " +
		"simulated chats deleted 0 " +
		"test runs from which the number was removed 0 snapshots of tests from which the number was removed 0 " +
		"test executions from which the number was removed 0 labels from which the number was removed 0 " +
		"earlier versions of prompts from which the number was removed 0"
	require.Equal(t, nothing+" dry run: nothing was erased", command(0, "", "erase", "--phone", "+4930123456",
		"--dry-run"))
	require.Equal(t, nothing, command(0, "", "erase", "--phone", "+4930123456", "--confirm", "+4930123456"))
	require.Equal(t, nothing, command(0, "", "erase", "--phone", "+4930123456", "--confirm", "+49 (0)30 12 34 56"))
	require.Contains(t, command(1, "", "erase", "--phone", "+4930123456", "--confirm", "+4930123457"),
		"that is not the number")
	require.Contains(t, command(0, "+4930123456\n", "erase", "--phone", "+4930123456"), nothing)
	require.Contains(t, command(1, "yes\n", "erase", "--phone", "+4930123456"), "nothing was erased")
	require.Contains(t, command(1, "", "erase", "--phone", "030123456"), "phoneNumber")

	require.Contains(t, command(1, "acme\n", "companies", "delete"), "nothing was deleted")
	require.Contains(t, command(1, "", "companies", "delete", "--confirm", "Other"), "nothing was deleted")
	require.Contains(t, command(0, "Acme\n", "companies", "delete"), "audit_events 6 retentions 2 api_keys 1 companies 1")
	companies, err := store.Companies(t.Context())
	require.NoError(t, err)
	require.Len(t, companies, 1)
	require.Equal(t, "Other", companies[0].Name)
	require.Contains(t, command(2, "", "companies", "delete"), "does not exist")
}
