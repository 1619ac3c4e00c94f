// The part of the product's schema that the workloads read.

export const schema = `
  scalar JSON

  type Query {
    agent(id: ID!): Agent
    agents(first: Int! = 50): AgentConnection!
  }

  type AgentConnection {
    nodes: [Agent!]!
    pageInfo: PageInfo!
  }

  type PageInfo {
    hasNextPage: Boolean!
    endCursor: String
  }

  type Agent {
    id: ID!
    name: String!
    channel: String!
    direction: String!
    language: String!
    tags: [String!]!
    createdAt: String!
    updatedAt: String!
    prompt: String!
    promptVersion: Int!
    outboundWelcomeMessage: String
    inboundWelcomeMessage: String
    isCallTransferEnabled: Boolean!
    fields: [AgentField!]!
    classificationTags: [ClassificationTag!]!
    extractedValues: [ExtractedValue!]!
    tools: [Tool!]!
    subAgents: [SubAgent!]!
    knowledgeBaseChatId: ID
    knowledgeBaseChat: KnowledgeBaseChat
    tests(first: Int! = 50): AgentTestConnection!
  }

  type AgentField {
    name: String!
    isMandatory: Boolean!
    isSystem: Boolean!
  }

  type ClassificationTag {
    name: String!
    definition: String!
    isSystem: Boolean!
  }

  type ExtractedValue {
    name: String!
    definition: String!
    type: String!
  }

  type Tool {
    id: ID!
    name: String!
    technicalName: String!
    description: String!
    parameters: JSON!
  }

  type SubAgent {
    id: ID!
    name: String!
    technicalName: String!
    description: String!
    agent: Agent!
  }

  type KnowledgeBaseChat {
    id: ID!
    name: String!
    datasets: [Dataset!]!
    llmSettings: LlmSettings!
  }

  type Dataset {
    id: ID!
    name: String!
    chunkMethod: String!
  }

  type LlmSettings {
    temperature: Float!
    topP: Float!
  }

  type AgentTestConnection {
    nodes: [AgentTest!]!
  }

  type AgentTest {
    id: ID!
    name: String!
    kind: String!
    lastRunStatus: String
    createdAt: String!
  }
`;

// resource is the operation behind GET /Agent/:id.
export const resource = `
  query GetAgent($id: ID!) {
    agent(id: $id) {
      agentId: id agentName: name channel direction language tags createdAt prompt
      outboundWelcomeMessage inboundWelcomeMessage isCallTransferEnabled knowledgeBaseChatId
      fields { name isMandatory isSystem }
      classificationTags { name definition isSystem }
      extractedValues { name definition type }
      tools { id name technicalName }
      subAgents { id name technicalName description }
    }
  }
`;
