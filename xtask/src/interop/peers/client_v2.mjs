// The second line of the TypeScript SDK as a client, in the newest era that both sides have: lists the tools, calls one, prints both.
// `client_v2.mjs http URL` or `client_v2.mjs stdio COMMAND…`.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const [kind, ...words] = process.argv.slice(2);
const transport =
  kind === 'http'
    ? new StreamableHTTPClientTransport(new URL(words[0]))
    : new StdioClientTransport({ command: words[0], args: words.slice(1), env: process.env });
const client = new Client({ name: 'interop', version: '1' }, { versionNegotiation: { mode: 'auto' } });
await client.connect(transport);
const { tools } = await client.listTools();
console.log(tools.length, 'tools', client.getNegotiatedProtocolVersion?.());
const result = await client.callTool({ name: 'Glob', arguments: { pattern: '*.md' } });
for (const block of result.content) console.log(block.text);
await client.close();
