SELECT json_build_object('agentId', a.id, 'agentName', a.name, 'channel', a.channel, 'direction', a.direction,
    'language', a.language, 'tags', a.tags, 'createdAt', a.created_at, 'prompt', a.prompt,
    'outboundWelcomeMessage', a.outbound_welcome_message, 'inboundWelcomeMessage', a.inbound_welcome_message,
    'fields', a.fields, 'classificationTags', a.classification_tags, 'extractedValues', a.extracted_values,
    'isCallTransferEnabled', a.is_call_transfer_enabled,
    'tools', (
        SELECT json_agg(json_build_object('id', t.id, 'name', t.name, 'technicalName', t.technical_name) ORDER BY e.position)
        FROM agent_tools AS e JOIN tools AS t ON t.company_id = e.company_id AND t.id = e.tool_id
        WHERE e.company_id = a.company_id AND e.agent_id = a.id),
    'subAgents', (
        SELECT json_agg(json_build_object('id', s.id, 'name', s.name, 'technicalName', s.technical_name,
            'description', s.description) ORDER BY s.position)
        FROM sub_agents AS s WHERE s.company_id = a.company_id AND s.agent_id = a.id),
    'knowledgeBaseChatId', a.knowledge_base_chat_id)
FROM agents AS a WHERE a.company_id = $1 AND a.id = $2 AND a.deleted_at IS NULL
