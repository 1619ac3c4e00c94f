package model

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nyaruka/phonenumbers"
	"golang.org/x/net/http/httpguts"
)

// Imported is an imported row with bounds that the database does not check.
type Imported interface {
	// CheckImported returns BAD_INPUT if the row breaks a bound.
	CheckImported() error
}

// CheckImported checks the bounds of an agent.
func (a *Agent) CheckImported() error { return a.Validate() }

// CheckImported checks the bounds of a tool, without the values of its headers, which are encrypted.
func (t *Tool) CheckImported() error {
	copied := *t
	err := copied.Update(UpdateToolInput{}, time.Time{}, nil)
	if t.Endpoint == nil {
		return err
	}
	return JoinFaults(err, t.Endpoint.checkImported())
}

// JoinFaults returns BAD_INPUT with the faults of all errors, or nil.
func JoinFaults(errs ...error) error {
	var faults Fields
	for _, err := range errs {
		if known, ok := errors.AsType[*Error](err); ok {
			faults.AddAll("", known.Fields)
		}
	}
	return faults.Err()
}

// CheckImported checks the bounds of an MCP server, without the values of its headers, which are encrypted.
func (s *McpServer) CheckImported() error {
	copied := *s
	err := copied.Update(UpdateMcpServerInput{}, time.Time{}, nil)
	var faults Fields
	faults.list("offers", len(s.Offers), MaxOffers)
	for i, offer := range s.Offers {
		at := fmt.Sprintf("offers.%d.", i)
		faults.text(at+"name", offer.Name, 1, MaxOfferName)
		faults.text(at+"description", offer.Description, 0, maxDefinition)
		if offer.Fault == nil {
			faults.schema(at+"parameters", offer.Parameters)
		}
	}
	return JoinFaults(err, faults.Err(), s.Endpoint.checkImported())
}

func (e *ToolEndpoint) checkImported() error {
	var faults Fields
	faults.endpoint("endpoint", &ToolEndpointInput{Method: e.Method, URL: e.URL, TimeoutSeconds: e.TimeoutSeconds})
	if faults.list("endpoint.headerNames", len(e.HeaderNames), maxHeaders) {
		for i, name := range e.HeaderNames {
			if !httpguts.ValidHeaderFieldName(name) || IsReservedHeader(name) {
				faults.Add(fmt.Sprintf("endpoint.headerNames.%d", i), "must be the name of an HTTP header that a tool may set")
			}
		}
	}
	if (len(e.HeaderNames) > 0) != (len(e.SealedHeaders) > 0) {
		faults.Add("endpoint.sealedHeaders", "must be given if headerNames has entries, and must be absent otherwise")
	}
	return faults.Err()
}

// CheckImported checks the bounds of a sub-agent. Its technical name may be one that only older versions accepted.
func (s *SubAgent) CheckImported() error {
	var faults Fields
	faults.technicalName("technicalName", s.TechnicalName)
	copied := *s
	return JoinFaults(copied.Update(UpdateSubAgentInput{}), faults.Err())
}

// CheckImported checks the bounds of a knowledge base chat. Its rerank model need not be configured.
func (c *KnowledgeBaseChat) CheckImported() error {
	copied, prompt := *c, c.PromptSettings
	return copied.merge(&c.Name, 0, 0, c.LlmSettings.Input(), &PromptSettingsInput{
		SimilarityThreshold: &prompt.SimilarityThreshold, KeywordsSimilarityWeight: &prompt.KeywordsSimilarityWeight,
		TopN:   &prompt.TopN,
		Prompt: &prompt.Prompt, Opener: &prompt.Opener, EmptyResponse: &prompt.EmptyResponse,
	}, nil)
}

// CheckImported checks the bounds of a dataset.
func (d *Dataset) CheckImported() error {
	copied := *d
	err := copied.Update(UpdateDatasetInput{ParserConfig: &ParserConfigInput{ChunkTokenNum: &d.ParserConfig.ChunkTokenNum,
		TaskPageSize: &d.ParserConfig.TaskPageSize}})
	var faults Fields
	faults.text("parserConfig.delimiter", d.ParserConfig.Delimiter, 1, 255)
	return JoinFaults(err, faults.Err())
}

// CheckImported checks the bounds of a document.
func (d *Document) CheckImported() error {
	var faults Fields
	faults.name("name", d.Name, 255)
	return faults.Err()
}

// CheckImported checks the bounds of a folder.
func (f *AgentTestFolder) CheckImported() error {
	copied := *f
	return copied.Update(UpdateAgentTestFolderInput{}, time.Time{})
}

// CheckImported checks the bounds of a test.
func (t *AgentTestRow) CheckImported() error {
	copied := *t
	var faults Fields
	if t.ToolMocking != nil && !t.ToolMocking.SideEffects.IsValid() {
		faults.Add("toolMocking.sideEffects", "must be Allow or Deny")
	}
	var rows []*TestRow
	for i, row := range t.Rows {
		if row.Key != row.Complete().Key {
			faults.Add(fmt.Sprintf("rows.%d.key", i), "must be left out, because it is computed from the name or the values")
		}
		rows = append(rows, &row)
	}
	err := faults.Err()
	if t.Kind == AgentTestKindClassification {
		return JoinFaults(err, (&ClassificationTest{&copied}).Update(UpdateClassificationTestInput{Rows: rows}, time.Time{}))
	}
	return JoinFaults(err, (&SimulationTest{&copied}).Update(UpdateSimulationTestInput{Rows: rows,
		JudgeSees: t.JudgeSees}, time.Time{}))
}

// CheckImported checks the bounds of a schedule, including its times.
func (s *AgentTestSchedule) CheckImported() error {
	copied := *s
	return copied.Update(UpdateAgentTestScheduleInput{}, time.Now())
}

// CheckImported checks the retention period.
func (r *Retention) CheckImported() error {
	_, err := NewRetention(SetRetentionInput{Kind: r.Kind, Days: r.Days})
	if r.Days == 0 && err == nil {
		var faults Fields
		faults.Add("days", "must be between 1 and %d", MaxRetentionDays)
		return faults.Err()
	}
	return err
}

// CheckImported checks the bounds of an execution.
func (e *AgentTestExecution) CheckImported() error {
	var faults Fields
	faults.draft("draftPrompt", e.DraftPrompt)
	var variants []*TestVariant
	for i := range e.Tried {
		variants = append(variants, &e.Tried[i])
	}
	faults.variants("variants", variants, e.DraftPrompt)
	return faults.Err()
}

// CheckImported checks the bounds of a simulated chat.
func (c *SimulationChat) CheckImported() error {
	var faults Fields
	faults.importedBag("dataBag", c.DataBag)
	faults.mocking("tool_mocking", &c.ToolMocking)
	faults.draft("draftPrompt", c.DraftPrompt)
	return faults.Err()
}

// CheckImported checks the bounds of a campaign in any state.
func (c *Campaign) CheckImported() error {
	var faults Fields
	faults.name("name", c.Name, 255)
	if c.DefaultRegion != nil && phonenumbers.GetCountryCodeForRegion(*c.DefaultRegion) == 0 {
		faults.Add("defaultRegion", "must be an ISO 3166 code of two capital letters, such as US or FR")
	}
	named(&faults, "ownFields", c.OwnFields, func(path string, field CampaignField) string {
		faults.fieldName(path+".name", field.Name)
		faults.optional(path+".description", field.Description, maxDefinition)
		return field.Name
	})
	return faults.Err()
}

// CheckImported checks the bounds of an item.
func (i *CampaignItem) CheckImported() error {
	var faults Fields
	faults.importedBag("dataBag", i.DataBag)
	return faults.Err()
}

// importedBag records the faults of a data bag that is stored without changes. Null, which input may contain, is not
// allowed.
func (f *Fields) importedBag(path string, bag JSONObject) {
	f.dataBag(path, bag)
	if _, err := variables(bag); err != nil {
		f.Add(path, "must map names to strings, not to null")
	}
}

// CheckImported checks the bounds of a plan.
func (p *Plan) CheckImported() error {
	_, err := NewPlan(SetPlanInput{p.Name, p.CreditsIncluded, p.Budget}, p.Month)
	return err
}

// CheckImported checks the bounds of an entry of usage.
func (e *UsageEntry) CheckImported() error {
	var faults Fields
	faults.text("idempotencyKey", e.IdempotencyKey, 1, MaxUsageKey)
	faults.text("agentId", e.AgentID, 1, MaxIDLength)
	faults.text("campaignId", e.CampaignID, 0, MaxIDLength)
	if !slices.Contains(AllChannel, e.Channel) {
		faults.Add("channel", "must be one of Phone, SMS, Web, WhatsApp")
	}
	isOfDay := strings.HasPrefix(e.IdempotencyKey, dayKeys)
	if !isOfDay && (e.Credits < -MaxEntryCredits || e.Credits > MaxEntryCredits) {
		faults.Add("credits", "must be between -%v and %v", MaxEntryCredits, MaxEntryCredits)
	}
	return faults.Err()
}
